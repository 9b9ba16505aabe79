#!/usr/bin/env python3
"""What gdb shows of pools.cpp, in the process and in its core dump. usage: gdb_test.py GDB LIDO_PY PROGRAM CORE"""
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("pools.cpp")
OPTIMISED = "O2" in sys.argv[3]  # lines are then what the compiler has left of them
COMMANDS = ["lido-pools", "frame function main", *(f"print {name}" for name in (
    "jobs", "first", "none", "gone", "lent", "idle", "db", "hosts", "bats", "nodes", "checked")), "lido-pools others"]


def line_of(text: str) -> int:
    return next(row for row, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


def held(function: str, code: str) -> str:
    line = line_of(code)
    lines = f"{line - 1}|{line}|{line + 1}" if OPTIMISED else line
    return rf"    held by thread 1 \(LWP \d+\), from .*\b{function}\(.*\) \(.*pools\.cpp:({lines})\)"


EXPECTED = [
    r"1 object_pool 'jobs': 3/100 in use, 0 waiting",
    r"2 object_pool 'tokens': 1/1 in use, 1 waiting",
    r"3 object_pool 'checked': 1/10 in use, 0 waiting",
    held("take_checked_job", "from.acquire();  // a checked job"),
    r"4 object_pool 'locked': 1/500 in use, 0 waiting",
    r"5 resource_pool 'db': 1/4 in use, 0 waiting",
    held("connect_for_the_test", "from.acquire();  // a connection"),
    r"6 keyed_resource_pool 'hosts': 1/8 in use, 0 waiting",
    held("main", "hosts.acquire(7)"),
    r"7 concurrent_slot_map 'bats': 2/50 in use, 0 waiting",
    r"8 block_resource 'nodes\[64\]': 0/20 in use, 0 waiting",
    r"9 block_resource 'nodes\[256\]': 1/30 in use, 0 waiting",
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
    r"1 object_pool 'apart': 0/5 in use, 0 waiting",
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


def main() -> None:
    gdb, lido, program, core = sys.argv[1:]
    Path(core).unlink(missing_ok=True)
    live = shown_by(gdb, lido, [program], ["run"], [f"generate-core-file {core}"])
    check("process", live)
    check("core dump", shown_by(gdb, lido, [program, core], [], []))
    Path(core).unlink()
    bare = Path(core).with_suffix(".bare")
    subprocess.run(["objcopy", "--strip-debug", program, bare], check=True)
    if "built with -g?" not in (text := shown_by(gdb, lido, [str(bare)], [], [])):
        sys.exit(f"{text}\nwithout debug information: no hint at it")
    bare.unlink()


main()
