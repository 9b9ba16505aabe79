#!/usr/bin/env python3
"""Compiles misuses of Lido in one run, and writes the compiler's messages about each: OUTPUT/<case>.txt.

usage: refused.py OUTPUT CASE.cpp... -- COMPILER ARGUMENT...

Each case is in its own namespace. A diagnostic belongs to the case whose file it names, where the error is or where the
instantiation began. One that names several cases ends the script.
"""
import re
import subprocess
import sys
from pathlib import Path

INCLUDE = re.compile(r'^#include [<"](.*)[>"]$', re.M)
FIRST = re.compile(r": (?:(?:fatal )?error|warning): ")
# Lines in front of an error or a note: its position, and the instantiations that led to it.
CONTEXT = re.compile(r"^In file included from |^ +from |: In |: At global scope:|:   (?:recursively )?required |:   in ")


def source_of(cases):
    """Writes the headers first: inside a namespace, their include guards would remove them."""
    headers = sorted({header for case in cases for header in INCLUDE.findall(case.read_text(encoding="utf-8"))})
    return "".join([f"#include <{header}>\n" for header in headers] +
                   [f'namespace {case.stem} {{\n#include "{case}"\n}}\n' for case in cases])


def diagnostics(text):
    """Splits the compiler's output: each error with the context before it and the notes after it."""
    lines, context = [], []
    for line in text.splitlines():
        if CONTEXT.search(line):
            context.append(line)
            continue
        if FIRST.search(line) and lines:
            yield lines
            lines = []
        lines += [*context, line]
        context = []
    yield lines + context


def main():
    end = sys.argv.index("--")
    output, cases, command = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:end]], sys.argv[end + 1:]
    output.mkdir(parents=True, exist_ok=True)
    source = output / "cases.cpp"
    source.write_text(source_of(cases), encoding="utf-8")
    said = subprocess.run([*command, source], capture_output=True, text=True).stderr
    of_case = {case: [] for case in cases}
    last = None
    for lines in diagnostics(said):
        # GCC does not repeat the context of the previous error.
        named = {case for case in cases if any(f"{case}:" in line for line in lines)} or {last}
        last = named.pop()
        if named or last is None:
            sys.exit("\n".join(["these lines are not about one case:", *lines]))
        of_case[last] += lines
    for case, lines in of_case.items():
        (output / f"{case.stem}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
