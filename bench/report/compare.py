#!/usr/bin/env python3
"""Compares two runs of lido_bench and marks what became slower.

usage: compare.py OLD.json [NEW.json|COMMIT] [--pairs N] [--all]

With COMMIT, the commit of OLD.json and COMMIT are built and measured alternately, N times each (20, at least 8). Without it,
the current sources replace it. With NEW.json the two runs are compared directly. They were not interleaved, so each verdict
says that: a machine that is slower today looks like slower code. --all: peers and floors, too.

Repetition k of the new run is paired with repetition k of the old one. For each benchmark the mean ratio of its pairs is
given with an interval that a bootstrap over the pairs finds. The intervals hold for all rows of the table at once, in 95 of
100 tables. Slower means that the whole interval is above 1 and its middle at 3 % or more. If even a change of 10 % could
hide, the data is too thin. Fewer than 8 pairs give no verdict. The exit status is 1 if something became slower in interleaved
runs, 2 if nothing could be compared.
"""
import argparse
import json
import math
import random
import statistics
import sys
from pathlib import Path

import by_turns
import tables

LEAST_PAIRS = 8  # fewer do not show their own spread
RESAMPLES = 2000
SMALLEST_CHANGE, HIDDEN_CHANGE = 0.03, 0.10


def times_of(path):
    """Returns nanoseconds of each benchmark, in the order of its repetitions."""
    found = {}
    for entry in tables.read(path)["benchmarks"]:
        if entry.get("run_type") == "iteration" and entry.get("ns_per_op") and not entry.get("error_occurred"):
            found.setdefault(entry["name"].removesuffix("/manual_time"), []).append((entry.get("repetition_index", 0), entry["ns_per_op"]))
    return {name: [time for _, time in sorted(times)] for name, times in found.items()}


def without_outliers(values):
    """Moves values far from the median nearer to it: one disturbance must not hide or feign a change."""
    middle = statistics.median(values)
    reach = 3 * 1.4826 * statistics.median(abs(value - middle) for value in values)
    return [min(max(value, middle - reach), middle + reach) for value in values]


def mean_and_error(values):
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def widening(rows, count):
    """Returns the width of the intervals in standard errors, such that 95 of 100 tables hold in all their rows."""
    generator = random.Random(1)
    centres = [statistics.fmean(row) for row in rows]
    farthest = []
    for _ in range(RESAMPLES):
        picked = generator.choices(range(count), k=count)
        reach = 0.0
        for row, centre in zip(rows, centres):
            mean, error = mean_and_error([row[index] for index in picked])
            reach = max(reach, abs(mean - centre) / error if error > 0 else 0)
        farthest.append(reach)
    return sorted(farthest)[int(0.95 * RESAMPLES)]


def verdict(centre, reach):
    if centre - reach > 0 and centre >= math.log1p(SMALLEST_CHANGE):
        return "SLOWER"
    if centre + reach < 0 and centre <= -math.log1p(SMALLEST_CHANGE):
        return "faster"
    return "too thin" if reach > math.log1p(HIDDEN_CHANGE) else "same"


def pairs_of(old, new):
    """Returns how many repetitions all common benchmarks have."""
    return min((min(len(old[name]), len(new[name])) for name in old if name in new), default=0)


def compare(old, new, interleaved=True):
    """Returns a row for each common benchmark: name, ratio, its interval, verdict."""
    names = [name for name in old if name in new]
    count = pairs_of(old, new)
    ratios = [without_outliers([math.log(new[name][k] / old[name][k]) for k in range(count)]) for name in names]
    width = widening(ratios, count)
    rows = []
    for name, row in zip(names, ratios):
        centre, error = mean_and_error(row)
        reach = width * error
        said = verdict(centre, reach) if interleaved else f"{verdict(centre, reach).lower()}, not interleaved"
        rows.append((name, math.exp(centre), math.exp(centre - reach), math.exp(centre + reach), said))
    return rows


def main():
    parser = argparse.ArgumentParser(prog="bench.sh compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new", nargs="?", default="")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    interleaved = not arguments.new.endswith(".json")
    for path in [arguments.old] if interleaved else [arguments.old, arguments.new]:
        if not Path(path).is_file():
            parser.error(f"{path} is no file")
    if arguments.pairs < LEAST_PAIRS:
        parser.error(f"--pairs {arguments.pairs}: at least {LEAST_PAIRS}")
    if interleaved:
        arguments.old, arguments.new = by_turns.measure(arguments.old, arguments.new, arguments.pairs)
    old, new = ({name: times for name, times in times_of(path).items() if arguments.all or name.split("/")[1].startswith("lido")}
                for path in (arguments.old, arguments.new))
    count = pairs_of(old, new)
    if count == 0:
        parser.error(f"{arguments.old} and {arguments.new} have no benchmark in common")
    if count < LEAST_PAIRS:
        parser.error(f"too thin: {count} repetitions, and fewer than {LEAST_PAIRS} say nothing about their own spread. Measure both with "
                     f"--repetitions {LEAST_PAIRS}, or give a COMMIT, which is measured by turns with {arguments.old}")
    rows = compare(old, new, interleaved)
    if not interleaved:
        print("The two runs were not interleaved: a difference may come from the machine. Give a COMMIT to measure both by turns.\n")
    print(f"{'benchmark':44} {'new / old':>9}  {'interval':>13}  ({count} pairs)")
    for name, ratio, low, high, said in rows:
        print(f"{name:44} {ratio:9.3f}  {low:6.3f}-{high:6.3f}  {said}")
    slower, faster, thin = (sum(row[-1].startswith(said) for row in rows) for said in ("SLOWER", "faster", "too thin"))
    if interleaved:
        print(f"{slower} of {len(rows)} slower, {faster} faster")
    if thin:
        print(f"The data is too thin in {thin}: a change of 10 % could hide. Compare more pairs, 20 or more.")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
