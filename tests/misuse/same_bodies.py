#!/usr/bin/env python3
"""A function of Lido that calls others with assertions than without has a name of its own in each mode.

Else a program with files of both kinds has one of the two bodies for both. Compares what each function that two object
files share calls: files of one source, compiled without optimisation, with assertions and without. Templates of the
standard library that call functions of Lido are the program's own affair.

usage: same_bodies.py OBJDUMP CHECKED UNCHECKED
"""
import re
import subprocess
import sys
from collections import Counter

FUNCTION = re.compile(r"^[0-9a-f]+ <(_ZZ?NK?4lido\w+)>:$")
CALL = re.compile(r"\bR_\w+\t([A-Za-z_]\w*)")
# A function of tests that were compiled with the file.
OURS = re.compile(r"_ZZ?NK?4lido\w*(12_GLOBAL__N_1|4test)")


def calls_by_function(objdump, path):
    """Names called or referred to by each function."""
    listing = subprocess.run([objdump, "--disassemble", "--reloc", "--wide", path], check=True, capture_output=True,
                             text=True).stdout
    found, current = {}, None
    for line in listing.splitlines():
        if line.endswith(">:"):
            match = FUNCTION.match(line)
            current = match and not OURS.match(match[1]) and found.setdefault(match[1], Counter())
        elif current is not None and current is not False and (call := CALL.search(line)):
            current[call[1]] += 1
    return found


def main(objdump, checked, unchecked):
    left, right = (calls_by_function(objdump, path) for path in (checked, unchecked))
    shared = left.keys() & right.keys()
    different = sorted(name for name in shared if left[name] != right[name])
    for name in different:
        only = ", ".join(sorted((left[name] - right[name]).keys() | (right[name] - left[name]).keys()))
        print(f"{name} lacks LIDO_ASSERTS: {only}")
    print(f"{len(shared)} functions in both, {len(different)} of them different")
    return 1 if different or len(shared) < 300 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
