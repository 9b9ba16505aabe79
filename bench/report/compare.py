#!/usr/bin/env python3
"""Compares two runs of lido_bench and marks what became slower.

usage: compare.py OLD.json [NEW.json|COMMIT] [--pairs N] [--all]

With NEW.json the two runs are compared as they are. With COMMIT, the commit of OLD.json and COMMIT are built and measured by
turns, N times each (20). Without either, the sources as they stand take the place of COMMIT. --all: peers and floors, too.

Repetition k of the new run is paired with repetition k of the old one. For each benchmark the mean ratio of its pairs is
given with an interval that a bootstrap over the pairs finds. The intervals hold for all rows of the table at once, in 95 of
100 tables. Slower means that the whole interval lies above 1 and its middle at 3 % or more. Where even a change of 10 % may
hide, the data is too thin. The exit status is 1 if something became slower.
"""
import argparse
import json
import math
import random
import statistics
import sys
from pathlib import Path

import by_turns

LEAST_PAIRS = 8  # fewer say nothing about their own spread
RESAMPLES = 2000
SMALLEST_CHANGE, HIDDEN_CHANGE = 0.03, 0.10


def times_of(path):
    """Nanoseconds of each benchmark, in the order of its repetitions."""
    found = {}
    for entry in json.loads(Path(path).read_text(encoding="utf-8"))["benchmarks"]:
        if entry.get("run_type") == "iteration" and entry.get("ns_per_op") and not entry.get("error_occurred"):
            found.setdefault(entry["name"].removesuffix("/manual_time"), []).append((entry.get("repetition_index", 0), entry["ns_per_op"]))
    return {name: [time for _, time in sorted(times)] for name, times in found.items()}


def without_outliers(values):
    """Values far from the median are drawn nearer: one disturbance must not hide or feign a change."""
    middle = statistics.median(values)
    reach = 3 * 1.4826 * statistics.median(abs(value - middle) for value in values)
    return [min(max(value, middle - reach), middle + reach) for value in values]


def mean_and_error(values):
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def widening(rows, count):
    """How many standard errors wide the intervals are, so that 95 of 100 tables hold in all their rows."""
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


def compare(old, new):
    """A row for each benchmark that both have: name, ratio, its interval, verdict."""
    names = [name for name in old if name in new]
    count = min((min(len(old[name]), len(new[name])) for name in names), default=0)
    if count < LEAST_PAIRS:
        return count, [(name, statistics.median(new[name]) / statistics.median(old[name]), None, None, "too thin") for name in names]
    ratios = [without_outliers([math.log(new[name][k] / old[name][k]) for k in range(count)]) for name in names]
    width = widening(ratios, count)
    rows = []
    for name, row in zip(names, ratios):
        centre, error = mean_and_error(row)
        reach = width * error
        rows.append((name, math.exp(centre), math.exp(centre - reach), math.exp(centre + reach), verdict(centre, reach)))
    return count, rows


def main():
    parser = argparse.ArgumentParser(prog="bench.sh compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new", nargs="?", default="")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    if not Path(arguments.old).is_file():
        parser.error(f"{arguments.old} is no file")
    if not arguments.new.endswith(".json"):
        arguments.old, arguments.new = by_turns.measure(arguments.old, arguments.new, arguments.pairs)
    old, new = ({name: times for name, times in times_of(path).items() if arguments.all or name.split("/")[1].startswith("lido")}
                for path in (arguments.old, arguments.new))
    count, rows = compare(old, new)
    if not rows:
        sys.exit(f"compare: {arguments.old} and {arguments.new} have no benchmark in common")
    print(f"{'benchmark':44} {'new / old':>9}  {'interval':>13}  ({count} pairs)")
    for name, ratio, low, high, said in rows:
        interval = f"{low:6.3f}-{high:6.3f}" if low else ""
        print(f"{name:44} {ratio:9.3f}  {interval:>13}  {said}")
    thin = sum(row[-1] == "too thin" for row in rows)
    slower = sum(row[-1] == "SLOWER" for row in rows)
    print(f"{slower} of {len(rows)} slower, {sum(row[-1] == 'faster' for row in rows)} faster")
    if thin:
        print(f"The data is too thin in {thin}: a change of 10 % could hide. Compare more pairs, 20 or more.")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
