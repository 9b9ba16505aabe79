#!/usr/bin/env python3
"""Writes the contention report: one page that works offline, and the raw data beside it as JSON and CSV.

usage: page.py RESULTS.json... FOLDER

Results are what measure.py or `lido_bench --benchmark_out=FILE` wrote, of one run. The chart library comes from npm into
build/echarts (scripts/setup.sh bench); without it the page has its tables alone.
"""
import csv
import json
import statistics
import sys
from pathlib import Path

import tables

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parents[1] / "build/echarts/node_modules/echarts/dist/echarts.common.min.js"
# Counted by hand in the sources that `why` names: operations and locked instructions of the loops that locked.hpp runs.
DESIGNS = [
    {"peer": "folly IndexedMemPool", "pair": 1, "burst": 514 / 512, "handoff": 202 / 201,
     "why": "Every acquire and every release is a compare-and-swap on the list of the processor that the thread runs on. Such a list has at most "
     "200 objects; the 201st moves them to a global list by one more, and so does the acquire that takes them from there (folly/IndexedMemPool.h)."},
    {"peer": "snmalloc", "pair": 0, "burst": 0, "handoff": 1 / 512,
     "why": "A thread allocates from its own slabs. What it releases of another thread's it keeps until that is 16 KiB, 256 objects of 64 bytes, and "
     "appends them to that thread's queue by one exchange (mem/remotecache.h, mem/freelist_queue.h, ds/allocconfig.h)."},
]
# Of lido_bench_counts.
LEVELS = {"pair_without_counts": "object pool: slow paths alone, always on", "pair_with_counts": "object pool with Traits::counts",
          "pair_with_counts_and_trace": "the same, while a trace records", "use/without_times": "resource pool",
          "use/with_times": "resource pool with time_uses"}


def rows_of(benchmarks):
    """A row for each workload, contender, number of threads and size; medians over the repetitions."""
    found = tables.sort_into_tables(benchmarks, "ns_per_op")
    for (workload, size), table in list(found.items()):
        for (contender, threads), cell in table.items():
            row = {"workload": workload, "contender": contender, "threads": threads, "bytes": size, "ns": cell.median,
                   "multiple": None, "spread": cell.spread, "low": None, "high": None, "repetitions": len(cell.times),
                   "failed": statistics.median(cell.failed) if cell.failed else None, "error": cell.error}
            if cell.median:
                reference = tables.references_for(found, workload, size, threads)[-1]
                row |= {"low": min(cell.times), "high": max(cell.times),
                        "multiple": cell.median / reference.median if reference and reference.median else None}
            yield row


def once(benchmarks, measure):
    """A row for each contender and number of threads of what runs once a repetition; medians of its counters, or an error."""
    found, errors = {}, {}
    for entry in benchmarks:
        name = tables.NAME.match(entry["name"])
        if name and name["workload"] == measure:
            place = (name["contender"], int(name["threads"]))
            if entry.get("error_occurred"):
                errors[place] = entry.get("error_message", "failed")
            else:
                found.setdefault(place, []).append(entry)
    counters = ("p50", "p99", "p99.9", "p99.99", "max", "samples", "pair", "burst", "handoff", "bytes_per_object", "bytes_per_pool")
    rows = [{"contender": contender, "threads": threads,
             **{key: statistics.median(entry[key] for entry in entries) for key in counters if key in entries[0]}}
            for (contender, threads), entries in found.items()]
    return rows + [{"contender": place[0], "threads": place[1], "error": error} for place, error in errors.items() if place not in found]


def pool_rows(entries):
    """Of lido_bench_pools, what a pool of 16 slots costs; each iteration has as many pools as the name ends with."""
    for use in ("unused", "used_by_one_thread"):
        of_use = [entry for entry in entries if f"/{use}/" in entry["run_name"]]
        if of_use:
            pools = int(of_use[0]["run_name"].rsplit("/", 1)[1])
            yield {"name": use.replace("_", " "), "microseconds": statistics.median(entry["real_time"] for entry in of_use) / 1000 / pools,
                   **{key: statistics.median(entry[key] for entry in of_use) for key in ("heap_bytes", "resident_bytes")}}


def level_rows(entries):
    for name, level in LEVELS.items():
        times = [1e9 * entry["pair"] for entry in entries if entry["run_name"] == name and not entry.get("error_occurred")]
        if times:
            yield {"level": level, "ns": statistics.median(times), "low": min(times), "high": max(times)}


def notes_of(benchmarks, rows):
    if tables.is_disturbed(benchmarks):
        yield "Something else ran on this machine meanwhile, so the times are too long; measure again on a quiet one."
    if any(row["failed"] for row in rows):
        yield "! marks a contender whose acquires failed although objects were free."


def page_data(data):
    context, benchmarks = data["context"], data["benchmarks"]
    rows = sorted(rows_of(benchmarks), key=lambda row: (tables.ORDER.index(row["workload"]), row["threads"], row["bytes"]))
    spreads = [row["spread"] for row in rows if row["spread"] is not None]
    known = {key: context.get(key, "unknown") for key in ("processor", "compiler", "malloc", "commit", "date")}
    return {
        "context": {**known, "cores": int(context.get("cores", 1)), "load": context.get("load_avg", ["?"])[0],
                    "absent": [name for name in context.get("absent", "").split(",") if name],
                    "repetitions": max((row["repetitions"] for row in rows), default=0),
                    "spread": statistics.median(spreads) if spreads else None, "notes": list(notes_of(benchmarks, rows))},
        "rows": [row for row in rows if row["bytes"] == 64], "meaning": tables.MEANING, "own": [context["own"]] if context.get("own") else [],
        "latency": once(benchmarks, "latency"), "locked": once(benchmarks, "locked"), "memory": once(benchmarks, "memory"),
        "levels": list(level_rows(data.get("levels", []))), "pools": list(pool_rows(data.get("pools", []))),
        "counts": data.get("counts", []), "builds": data.get("builds", []), "flames": data.get("flames"), "designs": DESIGNS,
    }, rows


def write_csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_page(data, folder):
    """Returns the path of the page."""
    shown, rows = page_data(data)
    if not rows:
        sys.exit("page: no benchmark of Lido in these results")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(data), encoding="utf-8")
    write_csv(folder / "results.csv", rows)
    library = LIBRARY.read_text(encoding="utf-8") if LIBRARY.exists() else ""
    if not library:
        shown["context"]["notes"].append("No charts: build/echarts is missing; scripts/setup.sh bench gets it.")
    page = (HERE / "page.html").read_text(encoding="utf-8")
    # The library last, so that nothing is looked for in it.
    for mark, text in (("/*{style}*/", (HERE / "page.css").read_text(encoding="utf-8")),
                       ("/*{script}*/", (HERE / "page.js").read_text(encoding="utf-8")),
                       ("{results}", json.dumps(shown).replace("<", "\\u003c")),
                       ("{library}", library.replace("</script", "<\\/script"))):
        page = page.replace(mark, text, 1)
    path = folder / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    loaded = [json.loads(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:-1]]
    benchmarks = [entry for data in loaded for entry in data["benchmarks"] if entry.get("run_type") == "iteration"]
    print(write_page({**loaded[0], "benchmarks": benchmarks}, Path(sys.argv[-1])))


if __name__ == "__main__":
    main()
