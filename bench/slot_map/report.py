#!/usr/bin/env python3
"""Turns the JSON of lido_bench_slot_map into one table per workload.

Each cell is the median over the repetitions: nanoseconds for one object if the workload walks or
adds many, otherwise for one operation. The table of a workload about memory says its unit. With one thread it is processor time.
"""

import argparse
import collections
import json
import re
import statistics

NAME = re.compile(r"^(?P<workload>\w+)/(?P<contender>\w+)(?:/(?P<size>\d+))?(?:/real_time|/manual_time)?(?:/threads:(?P<threads>\d+))?$")
MEANING = {
    "iterate": "move all objects; ns an object",
    "iterate_with_holes": "the same when every fourth is gone, others in each walk; ns an object that is left",
    "churn": "remove one by chance, add one",
    "insert_erase": "add a thousand, remove them in an order by chance; ns for one added and removed",
    "look_up": "find one by chance, as they were added",
    "look_up_after_churn": "the same after each has been replaced four times",
    "walk_and_remove": "move all, remove one in a hundred on the way, add as many; ns an object",
    "mixed": "a frame: 100 go, 50 come, all move, 16 are looked up, 50 come; ns an object",
    "breathe": "all but a twentieth go, the rest is walked, as many come; ns for one that comes",
    "clear": "clear a full map; ns an object",
    "refill": "add as many to a map whose objects were all erased in an order by chance; ns for one added",
    "emplace_at": "make objects under known handles in an order by chance; ns an object",
    "snapshot": "copy all values and slots; memcpy: the values alone; ns an object",
    "secondary_walk": "change the data of all objects, which all have some; ns an entry",
    "secondary_walk_half": "the same, half of the objects have data",
    "secondary_walk_sparse": "the same, one object in 64 has data",
    "secondary_look_up": "find data by chance, half of the objects have some; ns a look-up",
    "secondary_churn": "erase the data of one object, give some to another; ns for both",
    "secondary_memory": "KiB for 101 entries of 16 bytes, beside a million objects",
    "secondary_join_from_it": "walk the data of one object in 16, find the objects; ns an entry",
    "secondary_join_into_it": "walk the objects, find the data of one in 16; ns an entry",
    "concurrent_churn": "each thread replaces objects of its own; wall ns for one operation of all",
    "concurrent_update": "each thread moves objects of its own; wall ns for one operation of all",
    "concurrent_look_up": "all threads read any object; wall ns for one operation of all",
    "concurrent_walk": "all threads read all objects; wall ns an object of all walks",
    "concurrent_walk_beside_churn": "all threads replace 256 objects, then read all, and so on; wall ns an object of both",
    "parallel_walk": "one walk on as many threads of oneTBB moves all; ns an object",
}


def sort_into_tables(benchmarks):
    """Returns {workload: {(contender, column): [time of each repetition]}}"""
    tables = collections.defaultdict(lambda: collections.defaultdict(list))
    for entry in benchmarks:
        name = NAME.match(entry.get("run_name", entry["name"]))
        if entry.get("run_type") == "aggregate" or not name:
            continue
        column = int(name["threads"] or name["size"] or 0)
        # Google Benchmark counts processor time unless told otherwise, here as in per_object.
        time = entry["real_time" if "/real_time" in entry["name"] else "cpu_time"]
        nanoseconds = entry["per_object"] * 1e9 if "per_object" in entry else time
        kibibytes = entry["bytes"] / 1024 if "bytes" in entry else None
        tables[name["workload"]][name["contender"], column].append(nanoseconds if kibibytes is None else kibibytes)
    return tables


def load(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    return data["context"], sort_into_tables(data["benchmarks"])


def print_table(workload, table):
    columns = sorted({column for _, column in table})
    threads = workload.startswith(("concurrent", "parallel"))
    heads = [f"{count} thread{'s' if count > 1 else ''}" if threads else f"{count} objects" for count in columns]
    print(f"\n### {workload}: {MEANING.get(workload, '')}\n")
    print("| contender | " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * len(columns))
    first = {name: statistics.median(times) for (name, column), times in table.items() if column == columns[0]}
    for name in sorted(first, key=lambda name: (not name.startswith("lido"), first[name])):
        cells = [table.get((name, column)) for column in columns]
        print(f"| {name} | " + " | ".join(f"{statistics.median(cell):.2f}" if cell else "-" for cell in cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", help="what lido_bench_slot_map --benchmark_out=... wrote")
    context, tables = load(parser.parse_args().json)
    repetitions = max(len(cell) for table in tables.values() for cell in table.values())
    print(f"{context['num_cpus']} cores, load {context['load_avg'][0]:.1f}; {context['date']}; medians of {repetitions}")
    for workload, table in sorted(tables.items(), key=lambda item: list(MEANING).index(item[0])):
        print_table(workload, table)


if __name__ == "__main__":
    main()
