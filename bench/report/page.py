#!/usr/bin/env python3
"""Writes the contention report: one page that works offline and can be mailed, and the raw data beside it as JSON and CSV.

usage: page.py RESULTS.json... FOLDER

Results are files of measure.py or `lido_bench --benchmark_out=FILE`; each may be compressed (.gz). Files of one machine and
commit that have no benchmark in common are one run. Other files are further runs, which the page shows beside the first one,
each with its processor. The chart library comes from npm into build/echarts (scripts/setup.sh bench); without it the page
has only tables.
"""
import base64
import csv
import gzip
import html
import io
import json
import statistics
import sys
from pathlib import Path

import other_pools
import plain_tables
import tables
import verdict

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parents[1] / "build/echarts/node_modules/echarts/dist/echarts.min.js"
# Contention first: a reader sees the main result without a choice.
WORKLOADS = ["burst", "handoff", "churn", "near_exhaustion", "moving", "thread_churn", "pair", "list"]
BEST_KNOWN = ["floor", "ring_alone", "lido", "brpc_model", "snmalloc_model", "dpdk", "tcmalloc", "jemalloc", "mimalloc", "malloc", "moodycamel_tokens",
              "boost_lockfree_stack", "mutex_vector"]
# Counted by hand in the sources that `why` names: operations and locked instructions of the loops that locked.hpp runs.
DESIGNS = [
    {"peer": "folly IndexedMemPool", "pair": 1, "burst": 514 / 512, "handoff": 202 / 201,
     "why": "Every acquire and every release is a compare-and-swap on the list of the processor that the thread runs on. Such a list has at most "
     "200 objects; the 201st moves them to a global list by one more, and so does the acquire that takes them from there (folly/IndexedMemPool.h)."},
    {"peer": "snmalloc", "pair": 0, "burst": 0, "handoff": 1 / 512,
     "why": "A thread allocates from its own slabs. What it releases of another thread's it keeps until that is 16 KiB, 256 objects of 64 bytes, and "
     "appends them to that thread's queue by one exchange (mem/remotecache.h, mem/freelist_queue.h, ds/allocconfig.h)."},
]
# Names in lido_bench_statistics.
LEVELS = {"pair_without_counts": "object pool: slow paths alone, always on", "pair_with_counts": "object pool with Traits::counts",
          "use/without_times": "resource pool",
          "use/with_times": "resource pool with time_uses"}


def rows_of(benchmarks):
    """Returns a row for each workload, contender, number of threads and size; medians over the repetitions."""
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
    """Returns a row for each contender and number of threads of a measure; medians of its counters, or an error."""
    found, errors = {}, {}
    for entry in benchmarks:
        name = tables.NAME.match(entry["name"])
        if name and name["workload"] == measure:
            place = (name["contender"], int(name["threads"]))
            if entry.get("error_occurred"):
                errors[place] = entry.get("error_message", "failed")
            else:
                found.setdefault(place, []).append(entry)
    counters = ("p50", "p99", "p99.9", "p99.99", "max", "samples", "pair", "burst", "handoff", "pair_instructions", "burst_instructions",
                "bytes_per_object", "bytes_per_pool")
    rows = [{"contender": contender, "threads": threads,
             **{key: statistics.median(entry[key] for entry in entries) for key in counters if key in entries[0]}}
            for (contender, threads), entries in found.items()]
    rows += [{"contender": place[0], "threads": place[1], "error": error} for place, error in errors.items() if place not in found]
    return sorted(rows, key=lambda row: row["threads"])


def pool_rows(entries):
    """Returns the cost of a pool of 16 slots, by lido_bench_footprint; a name ends with the number of pools at the same time."""
    found = {}
    for entry in entries:
        _, use, pools = f"{entry['run_name']}//".split("/")[:3]
        if use in ("unused", "used_by_one_thread") and pools:
            found.setdefault((use, int(pools)), []).append(entry)
    for (use, pools), same in sorted(found.items()):
        yield {"name": f"{use.replace('_', ' ')}, {pools:,} at a time", "microseconds": statistics.median(entry["real_time"] for entry in same) / 1000 / pools,
               **{key: statistics.median(entry[key] for entry in same) for key in ("heap_bytes", "resident_bytes")}}


def level_rows(entries):
    for name, level in LEVELS.items():
        times = [1e9 * entry["pair"] for entry in entries if entry["run_name"] == name and not entry.get("error_occurred")]
        if times:
            yield {"level": level, "ns": statistics.median(times), "low": min(times), "high": max(times)}


def place_of(row):
    workload = row["workload"]
    return WORKLOADS.index(workload) if workload in WORKLOADS else len(WORKLOADS), workload, row["threads"], row["bytes"]


def run_data(data):
    """Returns the page's data on one run, and the rows of its raw data."""
    context, benchmarks = data["context"], data["benchmarks"]
    rows = sorted(rows_of(benchmarks), key=place_of)
    spreads = [row["spread"] for row in rows if row["spread"] is not None]
    known = {key: context.get(key, "unknown") for key in ("processor", "compiler", "malloc", "commit", "date")}
    shown = [row for row in rows if row["bytes"] == 64]
    cores, disturbed = int(context.get("cores", 1)), tables.is_disturbed(benchmarks)
    said = verdict.sentence(shown, disturbed)
    return {
        "label": f"{known['processor']}, {cores} cores",
        "context": {**known, "cores": cores, "load": context.get("load_avg", ["?"])[0], "pinned": context.get("pinned", "no"),
                    "absent": [name for name in context.get("absent", "").split(",") if name],
                    "repetitions": max((row["repetitions"] for row in rows), default=0),
                    "spread": statistics.median(spreads) if spreads else None,
                    "disturbed": disturbed, "verdict": said, "warning": verdict.warning(said, disturbed),
                    "notes": ["! marks a contender whose acquires failed although objects were free."] if any(row["failed"] for row in rows) else []},
        "rows": shown, "latency": once(benchmarks, "latency"), "locked": once(benchmarks, "locked"), "memory": once(benchmarks, "memory"),
        "levels": list(level_rows(data.get("levels", []))), "pools": list(pool_rows(data.get("pools", []))),
        "counts": [{**row, "per_million": f"{1e6 * row['per_operation']:,.0f}"} for row in data.get("counts", [])],
        "builds": [row for row in data.get("builds", []) if row["contender"] not in tables.FLOORS], "flames": data.get("flames"),
        "connections": other_pools.connections(data.get("connections", [])), "slot_maps": other_pools.slot_maps(data.get("slot_maps", [])),
    }, rows


def names_of(data):
    return {entry["name"] for entry in data["benchmarks"]}


def runs_of(loaded):
    """Joins files of one machine and commit without a common benchmark: they are parts of one run."""
    runs = []
    for data in loaded:
        data = {**data, "benchmarks": [entry for entry in data["benchmarks"] if entry.get("run_type") == "iteration"]}
        same = ("processor", "cores", "host_name", "commit", "compiler")
        for run in runs:
            if all(run["context"].get(key) == data["context"].get(key) for key in same) and not names_of(run) & names_of(data):
                run["benchmarks"] += data["benchmarks"]
                break
        else:
            runs.append(data)
    return runs


def label_apart(runs):
    """Names runs; those of equal machines differ by commit and date."""
    labels = [run["label"] for run in runs]
    for run, label in zip(runs, labels):
        if labels.count(label) > 1:
            run["label"] = f"{label}, {run['context']['commit']}, {run['context']['date'][:16]}"


def csv_text(runs, rows_of_runs):
    text = io.StringIO()
    writer = csv.DictWriter(text, ["run", *rows_of_runs[0][0]])
    writer.writeheader()
    for run, rows in zip(runs, rows_of_runs):
        writer.writerows({"run": run["label"], **row} for row in rows)
    return text.getvalue()


def link(name, kind, content):
    """Returns a link whose target is in the page itself, so that a mailed page has it, too."""
    return f'<a download="{name}" href="data:{kind};base64,{base64.b64encode(content).decode()}">{name}</a>'


def links(loaded, labels, table):
    for data, label in zip(loaded, labels):
        name = "results.json.gz" if len(loaded) == 1 else f"results-{1 + loaded.index(data)}.json.gz"
        of = "" if len(loaded) == 1 else f" ({html.escape(label)})"
        yield link(name, "application/gzip", gzip.compress(json.dumps(data).encode(), mtime=0)) + of
    yield link("results.csv", "text/csv", table.encode())


def write_page(loaded, folder):
    """Returns the path of the page."""
    loaded = runs_of(loaded)
    found = [run_data(data) for data in loaded]
    runs, rows = [run for run, _ in found], [rows for _, rows in found]
    if not all(rows):
        sys.exit("page: no benchmark of Lido in these results")
    label_apart(runs)
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(loaded, 1):
        (folder / ("results.json" if len(loaded) == 1 else f"results-{number}.json")).write_text(json.dumps(data), encoding="utf-8")
    table = csv_text(runs, rows)
    (folder / "results.csv").write_text(table, encoding="utf-8")
    library = LIBRARY.read_text(encoding="utf-8") if LIBRARY.exists() else ""
    shown = {"runs": runs, "meaning": tables.MEANING, "designs": DESIGNS, "best_known": BEST_KNOWN,
             "own": sorted({data["context"]["own"] for data in loaded if data["context"].get("own")})}
    page = (HERE / "page.html").read_text(encoding="utf-8")
    marks = {**plain_tables.heads(runs, bool(library)), "{links}": ", ".join(links(loaded, [run["label"] for run in runs], table)),
             **{f"{{plain {part}}}": f"<noscript>{text}</noscript>" for part, text in plain_tables.sections(shown).items()},
             "/*{style}*/": (HERE / "page.css").read_text(encoding="utf-8"), "/*{script}*/": (HERE / "page.js").read_text(encoding="utf-8"),
             # The library comes last, so that no mark is replaced in it.
             "{results}": json.dumps(shown).replace("<", "\\u003c"), "{library}": library.replace("</script", "<\\/script")}
    for mark, text in marks.items():
        page = page.replace(mark, text, 1)
    path = folder / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(write_page([tables.read(path) for path in sys.argv[1:-1]], Path(sys.argv[-1])))


if __name__ == "__main__":
    main()
