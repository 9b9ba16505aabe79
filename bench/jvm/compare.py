#!/usr/bin/env python3
"""Medians and ratios of pools from lines `name ns ns ns ...`: one acquire and release with 1, 2 and 8 threads.
Other output of the programs is left out. With PROGRAM, its output is the FILE.

usage: compare.py FILE | compare.py --run PROGRAM ARGUMENT...
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

THREADS = (1, 2, 8)
OURS = "lido"
FIGURES = re.compile(r"[\w.-]+(?: +\d+(?:\.\d+)?){3,}")


def read(lines):
    """Returns name -> for each number of threads the medians of all passes."""
    found = defaultdict(list)
    for name, *values in (line.split() for line in lines if FIGURES.fullmatch(line.strip())):
        found[name].append([float(value) for value in values[:len(THREADS)]])
    return {name: [median(column) for column in zip(*rows)] for name, rows in found.items()}


def text_of(arguments):
    if len(arguments) == 1:
        return Path(arguments[0]).read_text(encoding="utf-8")
    if len(arguments) > 1 and arguments[0] == "--run":
        return subprocess.run(arguments[1:], check=True, capture_output=True, text=True).stdout
    return sys.exit(__doc__.strip())


def main():
    pools = read(text_of(sys.argv[1:]).splitlines())
    if OURS not in pools:
        sys.exit(f"there are no figures of {OURS}")
    print("ns of wall time of all threads for one acquire and release; in brackets how many times Lido's")
    print(f"{'pool':<16}" + "".join(f"{f'{count} threads':>20}" for count in THREADS))
    for name, values in sorted(pools.items(), key=lambda pool: pool[1][0]):
        cells = (f"{value:.1f} ({value / own:.2f})" for value, own in zip(values, pools[OURS]))
        print(f"{name:<16}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
