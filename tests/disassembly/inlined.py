#!/usr/bin/env python3
"""Checks that functions call nothing that their own object file defines.

A compiler puts functions of headers that it does not inline into the object file, and calls them there. The slow paths
of the library are elsewhere. A regular expression that matches its whole demangled name selects a function. With
--compiler the file is a source, from which that compiler makes an object first.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LABEL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
CALL = re.compile(r"\t(?:call|jmp)\s+[0-9a-f]+ <(.+?)(?:\+0x[0-9a-f]+)?>(?:\t.*: R_X86_64_\w+\t(.+?)(?:[-+]0x[0-9a-f]+)?)?$")
COLD = re.compile(r"\.text\.unlikely|.*\.cold\b")


def calls_of(objdump: str, path: str) -> dict[str, set[str]]:
    """Returns function -> what it calls, or jumps to at its end."""
    command = [objdump, "--disassemble", "--reloc", "--wide", "--demangle", "--no-show-raw-insn", path]
    calls: dict[str, set[str]] = {}
    current: set[str] = set()
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n"):
        if label := LABEL.match(line):
            current = calls.setdefault(label[1], set())
        elif match := CALL.search(line):
            current.add(match[2] or match[1])
    return calls


def not_inlined(name: str, calls: dict[str, set[str]]) -> list[str]:
    """Finds a local function by its section. Names that begin with __ are the compiler's own."""
    return sorted(one for one in calls[name] if one != name and not one.startswith("__") and not COLD.match(one)
                  and (one in calls or one.startswith(".text")))


def compiled_calls(options: argparse.Namespace) -> dict[str, set[str]]:
    if not options.compiler:
        return calls_of(options.objdump, options.file)
    with tempfile.TemporaryDirectory() as folder:
        made = str(Path(folder) / "made.o")
        subprocess.run([options.compiler, "-std=c++20", "-O2", "-DNDEBUG", f"-I{options.include}", "-c", options.file, "-o", made],
                       check=True)
        return calls_of(options.objdump, made)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("functions", nargs="+")
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--compiler")
    parser.add_argument("--include", help="folder of the headers, for --compiler")
    parser.add_argument("--expect-rejected", action="store_true", help="fail for functions that pass")
    options = parser.parse_args()
    calls = compiled_calls(options)
    failed = False
    for pattern in options.functions:
        names = [name for name in calls if re.fullmatch(pattern, name)]
        if not names:
            failed = True
            print(f"{pattern}: no such function in the object file")
        for name in names:
            found = not_inlined(name, calls)
            failed |= bool(found) != options.expect_rejected
            print(f"{name}:" + "".join(f"\n  calls {one}" for one in found or ["nothing that could be inlined"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
