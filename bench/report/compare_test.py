#!/usr/bin/env python3
"""Runs compare.py on made-up times with a known answer: slower code is marked, A against A is not, thin data is named.

Two files are never judged like interleaved runs, and are refused if they have too few repetitions.
"""
import contextlib
import io
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import by_turns
import compare

NOISE = 0.03
SLOWER = ("slow/lido/threads:1", "slow/lido/threads:2")


def run(generator, pairs, factor, noise=NOISE):
    """Returns old and new times of 12 benchmarks, of which SLOWER take `factor` times as long; one in 50 is disturbed."""
    names = [*SLOWER, *(f"pair/lido/threads:{count}" for count in range(1, 11))]
    def times(scale):
        return [scale * generator.lognormvariate(0, noise) * (3 if generator.random() < 0.02 else 1) for _ in range(pairs)]
    return {name: times(7) for name in names}, {name: times(7 * (factor if name in SLOWER else 1)) for name in names}


def said(generator, *arguments, **more):
    return {row[0]: row[-1] for row in compare.compare(*run(generator, *arguments, **more))}


def of_files(*arguments):
    """Returns status and output of compare.py for two files of results."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("old.json", "new.json")]
        for path, times in zip(paths, run(random.Random(7), *arguments)):
            entries = [{"name": name, "run_type": "iteration", "repetition_index": index, "ns_per_op": time}
                       for name, all_times in times.items() for index, time in enumerate(all_times)]
            path.write_text(json.dumps({"benchmarks": entries}), encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", compare.__file__, *paths], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def problems_of_files():
    status, text = of_files(20, 1.5)
    verdicts = [line for line in text.splitlines() if "/lido/" in line]
    if status != 0 or len(verdicts) != 12 or not all(line.endswith("not interleaved") for line in verdicts):
        yield f"two files are judged as if they were interleaved ({status}): {text}"
    if "runs were not interleaved" not in text or sum("slower" in line for line in verdicts) != len(SLOWER):
        yield f"two files: {text}"
    status, text = of_files(3, 1.5)
    if status != 2 or "too thin: 3 repetitions" not in text or "COMMIT" not in text:
        yield f"two files of three repetitions are not refused ({status}): {text}"


def refused(*arguments):
    """Returns what compare.py says in one sentence with status 2; None if it says more or ends otherwise."""
    done = subprocess.run([sys.executable, "-B", compare.__file__, *arguments], capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if "compare: " in line]
    return lines[0] if done.returncode == 2 and len(lines) == 1 and "Traceback" not in done.stderr else None


def problems_of_failures():
    """Status 1 means only that something became slower."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = folder / "old.json"
        old.write_text(json.dumps({"context": {"commit": "no_such_commit"}, "benchmarks": []}), encoding="utf-8")
        for arguments, expected in (([old, folder / "absent.json"], "absent.json is no file"), ([old], "no_such_commit")):
            if expected not in (refused(*arguments) or ""):
                yield f"compare {arguments} is not refused in one sentence with status 2"
        by_turns.ROOT = by_turns.FOLDER = folder  # no sources, so that nothing can be built
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                by_turns.build("")
            except SystemExit as end:
                if end.code == 2 and said.getvalue().count("\n") == 1:
                    return
        yield f"a build that fails does not end with status 2 and one sentence: {said.getvalue()}"


def problems():
    generator = random.Random(7)
    compare.RESAMPLES = 200  # the test runs many tables
    tables = 20
    missed, feigned, faster = 0, 0, 0
    for _ in range(tables):
        seen = said(generator, 20, 1.10)
        missed += sum(seen[name] != "SLOWER" for name in SLOWER)
        feigned += sum(seen[name] in ("SLOWER", "faster") for name in seen if name not in SLOWER)
        feigned += sum(value in ("SLOWER", "faster") for value in said(generator, 20, 1.0).values())
        faster += sum(said(generator, 20, 0.9)[name] == "faster" for name in SLOWER)
    if missed > 2:
        yield f"a regression of 10 % was missed {missed} times of {2 * tables}"
    if faster < 2 * tables - 2:
        yield f"an improvement of 10 % was seen only {faster} times of {2 * tables}"
    if feigned > 3:
        yield f"A against A was marked in {feigned} rows of {tables} tables"
    if list(said(generator, 8, 1.0, noise=0.25).values()).count("too thin") < 10:
        yield "eight pairs with a noise of 25 % are not too thin"
    if set(said(generator, 20, 1.0).values()) != {"same"}:
        yield "twenty pairs with a noise of 3 % are not the same"


if __name__ == "__main__":
    found = [*problems(), *problems_of_files(), *problems_of_failures()]
    for problem in found:
        print(problem)
    print("compare:", "FAILED" if found else "ok")
    sys.exit(1 if found else 0)
