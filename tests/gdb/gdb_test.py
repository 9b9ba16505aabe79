#!/usr/bin/env python3
"""Tests what gdb shows of pools.cpp, in the process and in its core dump.
usage: gdb_test.py GDB LIDO_PY PROGRAM CORE [bare]    bare: the program has debug information, and Lido has none
Also checks that the file for Visual Studio names types and members that exist."""
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

SOURCE = Path(__file__).with_name("pools.cpp")
COMMANDS = ["lido-pools", "frame function main", *(f"print {name}" for name in (
    "jobs", "first", "none", "gone", "lent", "idle", "db", "hosts", "bats", "nodes", "checked", "rows", "row", "notes",
    "pointer", "at", "nothing", "refused", "allocator", "limit", "no_resource", "others", "no_pools")),
    "lido-pools others", "lido-pools no_pools"]


def line_of(text: str) -> int:
    return next(row for row, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


def held(function: str, code: str, thread: str = "1") -> str:
    line = line_of(code)
    return rf"    held by thread {thread} \(LWP \d+\), from .*\b{function}\(.*\).* \(.*pools\.cpp:{line}\)"


ROW = r"slot \d, generation \d"
EXPECTED = [
    r"1 object_pool 'jobs': 3/100 in use, 0 waiting",
    r"2 object_pool 'tokens': 1/1 in use, 1 waiting",
    r"3 object_pool 'checked': 1/10 in use, 0 waiting",
    held("take_checked_job", "from.acquire();  // a checked job"),
    r"4 object_pool 'locked': 1/500 in use, 0 waiting",
    r"5 resource_pool 'db': 1/4 in use, 0 waiting",
    held("connect_for_the_test", "from.acquire();  // a connection"),
    r"6 keyed_resource_pool 'hosts': 1/8 in use, 0 waiting",
    held("main", "hosts.at(7).acquire()"),
    r"7 resource_pool 'used': 1/1 in use, 0 waiting",
    held("operator", "used.acquire();  // in a thread", r"\d+"),
    r"8 concurrent_slot_map 'bats': 2/50 in use, 0 waiting",
    r"9 block_resource 'nodes\[64\]': 0/20 in use, 0 waiting",
    r"10 block_resource 'nodes\[256\]': 1/30 in use, 0 waiting",
    r"\$1 = 'jobs': 3/100 in use",
    r"\$2 = lease of 0x[0-9a-f]+",
    r"\$3 = empty lease",
    r"\$4 = .*lease of 0x[0-9a-f]+.*",
    r"\$5 = lease of 0x[0-9a-f]+",
    r"\$6 = empty lease",
    r"\$7 = 'db': 1/4 in use",
    r"\$8 = 'hosts': 1/8 in use",
    r"\$9 = 'bats': 2/50 in use",
    r"\$10 = 'nodes': 0/20 in use, 1/30 in use",
    r"\$11 = 'checked': 1/10 in use",
    rf"\$12 = 'rows': 2 values = {{\[{ROW}\] = {{number = \d0}}, \[{ROW}\] = {{number = \d0}}}}",
    rf"\$13 = {ROW} \(0x[0-9a-f]+\)",
    rf"\$14 = 1 entries = {{\[{ROW}\] = 7}}",
    rf"\$15 = pointer to {ROW} \(0x[0-9a-f]+\)",
    rf"\$16 = at {ROW}",
    r"\$17 = null handle",
    r"\$18 = no lease: lido::v0::acquire_failure::timed_out",
    r"\$19 = allocator of 'nodes': 0/20 in use, 1/30 in use",
    r"\$20 = 2000000 ns",
    r"\$21 = no resource",
    r"\$22 = registry of 1 pools",
    r"\$23 = registry of 0 pools",
    r"1 object_pool 'apart': 0/5 in use, 0 waiting",
    r"no pool has \.registry = &no_pools",
]


def shown_by(gdb: str, lido: str, arguments: list[str], before: list[str], after: list[str]) -> str:
    commands = [f"source {lido}", *before, *COMMANDS, *after]
    done = subprocess.run([gdb, "-batch", "-nx", *(f"--eval-command={one}" for one in commands), *arguments],
                          capture_output=True, text=True, timeout=100, check=False)
    return done.stdout + done.stderr


def check(what: str, text: str) -> None:
    lines = iter(text.splitlines())
    for pattern in EXPECTED:
        if not any(re.fullmatch(pattern, line) for line in lines):
            sys.exit(f"{text}\nin the {what}: no line, or not in its place: {pattern}")


def check_bare(text: str) -> None:
    """Types defined only in headers are shown, and a message replaces the rest."""
    hint = r".*are Lido and the program built with -g\?\)"
    for pattern in (r"\$1 = not readable: " + hint, r"\$7 = not readable: " + hint, r"\$12 = 'rows': 2 values = .*",
                    r"lido-pools: " + hint):
        if not re.search(f"^{pattern}$", text, re.MULTILINE):
            sys.exit(f"{text}\nwithout debug information of Lido: no line: {pattern}")
    if "Python" in text or "Traceback" in text:
        sys.exit(f"{text}\nwithout debug information of Lido: an exception")


NATVIS_OBJECTS = {  # of each type that lido.natvis shows
    "slot_handle": "row", "lease": "first", "resource_lease": "lent", "object_pool": "jobs",
    "slot_allocator": "jobs.slots_.allocator_", "slot_map": "rows", "secondary_map": "notes",
    "concurrent_slot_map": "bats"}


def natvis_questions(lido: str) -> list[tuple[str, str]]:
    """Returns commands for gdb, and what their answers begin with: the name of each type, and each expression about it."""
    questions = []
    space = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
    for shown in ElementTree.parse(Path(lido).with_suffix(".natvis")).iter(space + "Type"):
        name = shown.get("Name", "")
        known = NATVIS_OBJECTS[name.removesuffix("<*>").rpartition("::")[2]]
        questions.append((f"python print(gdb.parse_and_eval('{known}').type.strip_typedefs())",
                          re.escape(name).replace(r"\*", ".*")))
        expressions = []
        for node in list(shown.iter())[1:]:
            text = (node.text or "").strip()
            expressions += re.findall(r"\{([^{}]+)\}", text) if node.tag == space + "DisplayString" else [text]
            expressions.append(node.get("Condition", ""))
        for expression in filter(None, expressions):
            of_object = re.sub(r"(?<![\w.>])([a-z]\w*_)\b", rf"({known}).\1", expression.replace("nullptr", "0"))
            questions.append((f"output sizeof({of_object})", r"\d+"))
    return questions


def check_natvis(gdb: str, lido: str, program: str, core: str) -> None:
    questions = natvis_questions(lido)
    asked = [command for question, _ in questions for command in ("--eval-command=echo \\n==", f"--eval-command={question}")]
    text = subprocess.run([gdb, "-batch", "-nx", "--eval-command=frame function main", *asked, program, core],
                          capture_output=True, text=True, timeout=100, check=False).stdout
    for (question, wanted), answer in zip(questions, text.split("\n==")[1:], strict=True):
        if not re.match(wanted, answer):
            sys.exit(f"lido.natvis: gdb answers {question} with {answer!r}, not with {wanted}")


def main() -> None:
    gdb, lido, program, core = sys.argv[1:5]
    if sys.argv[5:] == ["bare"]:
        check_bare(shown_by(gdb, lido, [program], ["run"], []))
        return
    Path(core).unlink(missing_ok=True)
    live = shown_by(gdb, lido, [program], ["run"], [f"generate-core-file {core}"])
    check("process", live)
    check("core dump", shown_by(gdb, lido, [program, core], [], []))
    check_natvis(gdb, lido, program, core)
    Path(core).unlink()
    bare = Path(core).with_suffix(".bare")
    subprocess.run(["objcopy", "--strip-debug", program, bare], check=True)
    if "built with -g?" not in (text := shown_by(gdb, lido, [str(bare)], [], [])):
        sys.exit(f"{text}\nwithout debug information: no hint at it")
    bare.unlink()


main()
