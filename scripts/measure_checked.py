#!/usr/bin/env python3
"""Measures what a checked pool takes beside one without checks, in one run of the bench.

The contenders take turns (Google Benchmark's random interleaving); the ratio is that of their medians.
Fails if that is above 9, a little more than the reference says. scripts/report_verification.py reads the result, which says how busy the machine was before.

usage: measure_checked.py [--repetitions N] [--no-build] [--output FILE]
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench/report"))
import tables  # noqa: E402

BUILD = ROOT / "build" / "bench"
ASKED = 9
PLAIN, CHECKED = "lido", "lido_checked"


def build():
    subprocess.run(["cmake", "--preset", "bench", "-DLIDO_BUILD_EXAMPLES=OFF", "-DLIDO_BENCH_ALL_SIZES=ON"], cwd=ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "lido_bench"], check=True, stdout=subprocess.DEVNULL)


def run_bench(repetitions):
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        subprocess.run([BUILD / "bench/lido_bench", f"--benchmark_filter=^pair/({PLAIN}|{CHECKED})/",
                        "--benchmark_min_time=0.05", f"--benchmark_repetitions={repetitions}",
                        "--benchmark_enable_random_interleaving=true", f"--benchmark_out={results}",
                        "--benchmark_out_format=json"], check=True, stdout=subprocess.DEVNULL)
        return json.loads(results.read_text(encoding="utf-8"))["benchmarks"]


def rows_of(benchmarks):
    """The ratio for each size of objects and number of threads, and the two medians in nanoseconds an operation."""
    rows = []
    for (_, size), table in sorted(tables.sort_into_tables(benchmarks, "ns_per_op").items()):
        for threads in sorted(threads for contender, threads in table if contender == PLAIN):
            plain, checked = table[PLAIN, threads].median, table[CHECKED, threads].median
            rows.append({"bytes": size, "threads": threads, "plain_ns": round(plain, 2),
                         "checked_ns": round(checked, 2), "ratio": round(checked / plain, 2)})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--no-build", action="store_true", help="what is built will do")
    parser.add_argument("--output", default=ROOT / "build" / "checked_cost.json")
    arguments = parser.parse_args()
    if not arguments.no_build:
        build()
    load = round(os.getloadavg()[0], 1)
    rows = rows_of(run_bench(arguments.repetitions))
    for row in rows:
        print("{bytes:>5} bytes, {threads} threads: {plain_ns:7.2f} ns, checked {checked_ns:7.2f}, {ratio:5.2f} x".format(**row))
    written = {"date": datetime.date.today().isoformat(), "cores": os.cpu_count(), "load": load, "rows": rows}
    Path(arguments.output).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if max(row["ratio"] for row in rows) > ASKED:
        sys.exit(f"a checked pool takes more than {ASKED} times as long")


if __name__ == "__main__":
    main()
