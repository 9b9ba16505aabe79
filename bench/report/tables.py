#!/usr/bin/env python3
"""Turns the JSON of lido_bench into one table per workload.

Each cell is a median over the repetitions: nanoseconds of one core per operation, and the ratio to the
floor's time. The floor ran with the same number of threads in the same run.
"""

import argparse
import collections
import gzip
import json
import re
import statistics
import sys

NAME = re.compile(r"^(?P<workload>\w+)/(?P<contender>\w+)/threads:(?P<threads>\d+)(?:/bytes:(?P<bytes>\d+))?")
ORDER = ["pair", "burst", "churn", "handoff", "thread_churn", "near_exhaustion", "moving", "list"]
MEANING = {
    "pair": "acquire one, release it",
    "burst": "acquire 256, release 256",
    "churn": "hold 64 per thread, replace a random one",
    "handoff": "acquire in one thread, release in another, ring of 1024 between",
    "thread_churn": "threads start, do 512 operations and end; start and end are timed",
    "list": "a std::pmr::list of 64 values: append one, drop the first",
    "near_exhaustion": "capacity is exactly threads x 64, every thread takes 64 one by one",
    "moving": "capacity is threads x 8, every thread holds 0 to 16, by chance",
}
SCARCE = ("near_exhaustion", "moving")  # no object to spare, and no floor of their own
MEASURES = ("latency", "locked", "memory")  # measured for each contender, but no workloads
OPERATIONS = {"near_exhaustion": 128, "moving": 32}
OWN = ("floor", "ring_alone", "lido", "lido_wrapped", "lido_cleared", "lido_locked_cache", "lido_no_cache", "lido_boost_list", "lido_checked",
       "lido_grow", "lido_block", "lido_block_resource", "lido_block_sizes", "lido_keep_constructed",
       "lido_construct_each_time")
FLOORS = ("floor", "ring_alone")  # pools are compared with them; they are no pools


class Cell:
    """All repetitions of one benchmark."""

    def __init__(self):
        self.times, self.failed, self.error = [], [], None

    def add(self, entry, counter):
        if entry.get("error_occurred"):
            self.error = entry.get("error_message", "failed")
            return
        self.times.append(entry[counter])
        per_thread = entry["iterations"] * OPERATIONS.get(entry["workload"], 1)
        self.failed.append(entry["failed"] * 1e6 / (per_thread * entry["threads_run"]))

    @property
    def median(self):
        return statistics.median(self.times) if self.times and not self.error else None

    @property
    def spread(self):
        """Returns half the distance from fastest to slowest repetition, as a share of the median."""
        if self.median and len(self.times) > 1:
            return (max(self.times) - min(self.times)) / 2 / self.median
        return None


def read(path):
    """Returns the JSON of a file, which may be compressed like the report's own download."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def load(path):
    data = read(path)
    return data["context"], data["benchmarks"]


def sort_into_tables(benchmarks, counter):
    tables = collections.defaultdict(lambda: collections.defaultdict(Cell))
    for entry in benchmarks:
        if entry.get("run_type") == "aggregate":
            continue
        name = NAME.match(entry["name"])
        if not name or name["workload"] in MEASURES:
            continue
        threads, size = int(name["threads"]), int(name["bytes"] or 64)
        entry["workload"], entry["threads_run"] = name["workload"], threads
        tables[name["workload"], size][name["contender"], threads].add(entry, counter)
    return tables


def number(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def multiple(cell, reference):
    if reference is None or not reference.median:
        return ""
    ratio = cell.median / reference.median
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def cell_text(cell, references, best):
    if cell is None:
        return "-"
    if cell.median is None:
        return cell.error or "-"
    ratios = [multiple(cell, reference) for reference in references]
    return " ".join([number(cell.median), *[ratio for ratio in ratios if ratio]]) + (" *" if best else "")


def ordered(table):
    """Returns the floor and Lido first, then the others from fast to slow."""
    names = {contender for contender, _ in table}

    def key(name):
        rank = OWN.index(name) if name in OWN else len(OWN)
        medians = [cell.median for (contender, _), cell in sorted(table.items())
                   if contender == name and cell.median]
        return (rank, medians[0] if medians else float("inf"), name)

    return sorted(names, key=key)


def references_for(tables, workload, size, threads):
    if workload == "handoff":
        return [tables[workload, size].get((name, threads)) for name in ("lido", "ring_alone")]
    if workload in SCARCE:
        return [tables["pair", size].get(("floor", threads))]
    return [tables[workload, size].get(("floor", threads))]


def rows_of(tables, workload, size, absent):
    table = tables[workload, size]
    thread_counts = sorted({threads for _, threads in table})
    header = ["contender"] + [f"{count} thread{'s' if count > 1 else ''}" for count in thread_counts]
    failures = workload in SCARCE
    if failures:
        header.append("failed per million")
    best = {}
    for threads in thread_counts:
        medians = {name: cell.median for (name, count), cell in table.items()
                   if count == threads and name not in FLOORS and cell.median}
        best[threads] = min(medians, key=medians.get) if medians else None
    rows = []
    for name in ordered(table):
        row = [name]
        for threads in thread_counts:
            cell = table.get((name, threads))
            row.append(cell_text(cell, references_for(tables, workload, size, threads), best[threads] == name))
        if failures:
            cells = [table.get((name, threads)) for threads in thread_counts]
            row.append(" / ".join(f"{statistics.median(cell.failed):.0f}" if cell and cell.failed else "-"
                                  for cell in cells))
        rows.append(row)
    rows += [[name] + ["absent"] * (len(header) - 1) for name in absent]
    return header, rows


def print_table(header, rows, markdown):
    if markdown:
        print("| " + " | ".join(header) + " |")
        print("|" + "|".join(["---"] + ["---:"] * (len(header) - 1)) + "|")
        for row in rows:
            print("| " + " | ".join(row) + " |")
        return
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    for line in [header, *rows]:
        cells = [line[0].ljust(widths[0])]
        # The star is outside the column of numbers.
        for text, width in zip(line[1:], widths[1:]):
            cells.append((text if text.endswith(" *") else text + "  ").rjust(width + 2))
        print("  ".join(cells).rstrip())


def is_disturbed(entries):
    """Returns whether the floor, which never waits, took clearly longer than its processor time."""
    shares = [entry["ns_per_op"] / entry["cpu_ns_per_op"] for entry in entries
              if entry["name"].startswith(("pair/floor/", "burst/floor/")) and entry.get("run_type") == "iteration"
              and entry.get("cpu_ns_per_op")]
    return bool(shares) and statistics.median(shares) > 1.25


def print_heading(context, runs, markdown, counter):
    cells = [cell for tables in runs for table in tables.values() for cell in table.values()]
    repetitions = max((len(cell.times) for cell in cells), default=0)
    spreads = [cell.spread for cell in cells if cell.spread is not None]
    lines = [
        f"{context.get('processor', '?')}, {context.get('cores', '?')} cores, load {context.get('load_avg', ['?'])[0]}",
        f"{context.get('compiler', '?')}; malloc from {context.get('malloc', '?')}",
        f"{context.get('date', '?')}; {repetitions} repetitions, interleaved at random; medians",
    ]
    if spreads:
        lines.append(f"spread of the repetitions: ±{statistics.median(spreads):.0%} of the median, in the median cell")
    if counter != "ns_per_op":
        lines.append("processor time instead of wall time: waits of contenders that sleep are not in it")
    print(("# " if markdown else "") + "Lido benches")
    for line in lines:
        print(("- " if markdown else "  ") + line)
    print()
    print("ns of one core per operation, and the multiple of the floor at as many threads; * = best shared contender")


def title(workload, size):
    text = f"{workload}, {size} bytes: {MEANING.get(workload, '')}"
    if workload == "handoff":
        text += " (ns, multiple of lido, multiple of ring_alone)"
    if workload in SCARCE:
        text += " (multiple of the floor's pair)"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", nargs="+", help="what lido_bench --benchmark_out=... wrote, of one run")
    parser.add_argument("--markdown", action="store_true", help="Markdown instead of plain text")
    parser.add_argument("--cpu", action="store_true",
                        help="processor time instead of wall time, for a machine that is not quiet")
    arguments = parser.parse_args()
    counter = "cpu_ns_per_op" if arguments.cpu else "ns_per_op"
    loaded = [load(path) for path in arguments.json]
    runs = [sort_into_tables(benchmarks, counter) for _, benchmarks in loaded]
    if not any(runs):
        sys.exit(f"{' '.join(arguments.json)}: no benchmark of Lido")
    context = loaded[0][0]
    print_heading(context, runs, arguments.markdown, counter)
    if not arguments.cpu and is_disturbed([entry for _, benchmarks in loaded for entry in benchmarks]):
        print("NOTE: something else ran on this machine; try --cpu, which leaves that out")
    absent = [name for name in context.get("absent", "").split(",") if name]
    for tables in runs:
        print_run(tables, absent, arguments.markdown)


def print_run(tables, absent, markdown):
    """Returns the tables of one process; a floor used only for comparison has none of its own."""
    shown = [key for key, table in tables.items() if {name for name, _ in table} != {"floor"}]
    for workload, size in sorted(shown, key=lambda key: (key[1] != 64, ORDER.index(key[0]), key[1])):
        print()
        print(("## " if markdown else "") + title(workload, size))
        if markdown:
            print()
        header, rows = rows_of(tables, workload, size, absent)
        print_table(header, rows, markdown)
    dry = sorted(f"{workload}/{name}/{threads}" for (workload, _), table in tables.items()
                 for (name, threads), cell in table.items()
                 if workload not in SCARCE and cell.failed and statistics.median(cell.failed) > 0)
    if dry:
        print("\nran dry at times although not exhausted: " + ", ".join(dry))


if __name__ == "__main__":
    main()
