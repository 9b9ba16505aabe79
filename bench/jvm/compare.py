#!/usr/bin/env python3
"""Medians and ratios of pools from lines `name ns ns ns ...`: one acquire and release with 1, 2 and 8 threads.

usage: compare.py FILE
"""
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

THREADS = (1, 2, 8)
OURS = "lido"


def read(lines):
    """name -> for each number of threads the medians of all passes."""
    found = defaultdict(list)
    for line in lines:
        name, *values = line.split()
        found[name].append([float(value) for value in values[:len(THREADS)]])
    return {name: [median(column) for column in zip(*rows)] for name, rows in found.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    pools = read(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    print("ns of wall time of all threads for one acquire and release; in brackets how many times Lido's")
    print(f"{'pool':<16}" + "".join(f"{f'{count} threads':>20}" for count in THREADS))
    for name, values in sorted(pools.items(), key=lambda pool: pool[1][0]):
        cells = (f"{value:.1f} ({value / own:.2f})" for value, own in zip(values, pools[OURS]))
        print(f"{name:<16}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
