#!/usr/bin/env python3
"""Every contender that was built runs every workload it has, briefly, and none of Lido's fails an acquire.

Numbers of threads follow the machine, and --pin gives each thread of a team one processor.

usage: smoke_test.py LIDO_BENCH REPORT
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

WORKLOADS = {"pair", "burst", "churn", "handoff", "thread_churn", "near_exhaustion", "moving"}
OWN = {"lido", "lido_wrapped", "lido_cleared", "lido_locked_cache", "lido_no_cache", "lido_boost_list", "lido_grow", "lido_block"}


def run(bench, report):
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        subprocess.run([bench, "--threads=1,2", "--benchmark_min_time=0.0001", "--benchmark_filter=threads:[0-9]+/manual_time$",
                        f"--benchmark_out={results}", "--benchmark_out_format=json"],
                       check=True, stdout=subprocess.DEVNULL)
        table = subprocess.run([sys.executable, "-B", report, results], check=True, capture_output=True, text=True)
        return json.loads(results.read_text(encoding="utf-8"))["benchmarks"], table.stdout


def problems_in(benchmarks, table):
    ran = {}
    threads = {entry["name"].split("/")[2] for entry in benchmarks}
    if threads != {"threads:1", "threads:2"}:
        yield f"with --threads=1,2 it ran {sorted(threads)}"
    for entry in benchmarks:
        workload, contender = entry["name"].split("/")[:2]
        ran.setdefault(contender, set()).add(workload)
        if contender in OWN and entry.get("error_occurred"):
            yield f"{entry['name']}: {entry['error_message']}"
        elif contender in OWN and entry["failed"] > 0:
            yield f"{entry['name']}: {entry['failed']} acquires failed"
    for contender in OWN:
        missing = WORKLOADS - ran.get(contender, set())
        if missing:
            yield f"{contender} did not run {sorted(missing)}"
    for contender in sorted(ran):
        if contender not in table:
            yield f"{contender} is not in the report"


def problems_of_counts(bench):
    names = subprocess.run([bench, "--benchmark_list_tests=true", "--benchmark_filter=^pair/floor/"], check=True, capture_output=True, text=True).stdout
    cores = len(os.sched_getaffinity(0))
    counts = [int(count) for count in re.findall(r"threads:([0-9]+)", names)]
    if counts != sorted({1, 2, 8, cores, 2 * cores}):
        yield f"on {cores} cores it runs {counts} threads"


def problems_of_pinning(bench):
    """Checks the processors of each thread while a team of two runs."""
    wanted = {str(processor) for processor in sorted(os.sched_getaffinity(0))[:2]}
    seen = set()
    running = subprocess.Popen([bench, "--pin", "--threads=2", "--benchmark_min_time=5", "--benchmark_filter=^pair/floor/"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        last = time.monotonic() + 60
        while not wanted <= seen and time.monotonic() < last and running.poll() is None:
            for status in pathlib.Path(f"/proc/{running.pid}/task").glob("*/status"):
                with contextlib.suppress(OSError):  # the thread has ended
                    seen.update(re.findall(r"^Cpus_allowed_list:\t(.*)$", status.read_text(encoding="utf-8"), re.M))
    finally:
        running.kill()
        running.wait()
    if not wanted <= seen:
        yield f"with --pin threads run on {sorted(seen)}, not on {sorted(wanted)}"


def main():
    bench, report = sys.argv[1:3]
    found = [*problems_in(*run(bench, report)), *problems_of_counts(bench), *problems_of_pinning(bench)]
    for problem in found:
        print(problem)
    print("bench smoke:", "FAILED" if found else "ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
