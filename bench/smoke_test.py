#!/usr/bin/env python3
"""Every contender that was built runs every workload it has, briefly, and none of Lido's fails an acquire.

usage: smoke_test.py LIDO_BENCH REPORT
"""

import json
import pathlib
import subprocess
import sys
import tempfile

WORKLOADS = {"pair", "burst", "churn", "handoff", "thread_churn", "near_exhaustion"}
OWN = {"lido", "lido_locked_cache", "lido_no_cache", "lido_boost_list", "lido_grow", "lido_block"}


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


def main():
    found = list(problems_in(*run(*sys.argv[1:3])))
    for problem in found:
        print(problem)
    print("bench smoke:", "FAILED" if found else "ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
