"""The report's data on pools other than object pools: measures, each with columns and a row for each contender and column."""
import re
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from slot_map import report as slot_map_report  # noqa: E402  (beside its bench)

COLUMN = re.compile(r"(?:\d+ )?[^\s/]+/\S+|\bp99\b")
FIGURES = re.compile(r"[a-z]\w*(?: +\d+(?:\.\d+)?)+")
# Measure -> the meaning of a use, and of a column.
CONNECTIONS = {
    "pair": "nothing is done with a resource; 8 resources",
    "2us": "2 us of work with each of 8 resources: most threads wait",
    "20us": "20 us of work with each of 8 resources: most threads wait",
    "same": "keyed pools, room for all: all threads use one key",
    "own": "keyed pools, room for all: each thread has a key of its own",
    "8 keys": "keyed pools, room for all: keys are drawn from 8",
    "1000": "keyed pools, room for all: keys are drawn from 1,000",
}


def lines_of(text):
    """Returns (contender, column, ns) of each figure in a bench's table; 0 means that it was not measured."""
    columns = []
    for line in text.splitlines():
        if line.startswith("2 us of work"):  # keyed pools again, with other column names
            return
        if line.startswith("contender"):
            columns = COLUMN.findall(line.removeprefix("contender"))
        elif columns and FIGURES.fullmatch(line.strip()):
            name, *values = line.split()
            yield from ((name, column, float(value)) for column, value in zip(columns, values) if float(value) > 0)


def measure(name, meaning, times, column_name):
    """`times` has the repetitions of each (contender, column)."""
    columns = sorted({column for _, column in times})
    rows = [{"contender": contender, "column": column, "ns": statistics.median(values), "low": min(values), "high": max(values)}
            for (contender, column), values in sorted(times.items())]
    return {"name": name, "meaning": meaning, "columns": [{"key": column, "text": column_name(column)} for column in columns], "rows": rows}


def of_threads(count):
    return f"{count:,} thread{'s' if count > 1 else ''}"


def connections(repetitions):
    """Returns data of lido_bench_resource and lido_bench_keyed; each repetition is a list of [contender, column, ns]."""
    found = {}
    for contender, column, time in (line for repetition in repetitions for line in repetition):
        name, _, count = column.rpartition("/")
        if name in CONNECTIONS and re.fullmatch(r"\d+", count) and count != "0":
            found.setdefault(name, {}).setdefault((contender, int(count)), []).append(time)
    return [measure(name, CONNECTIONS[name], found[name], of_threads) for name in CONNECTIONS if name in found]


def slot_maps(entries):
    """Returns data of lido_bench_slot_map."""
    found = slot_map_report.sort_into_tables(entries)
    def of_objects(count):
        return f"{count:,} objects"
    return [measure(name, meaning, found[name], of_threads if name.startswith(("concurrent", "parallel")) else of_objects)
            for name, meaning in sorted(slot_map_report.MEANING.items(), key=lambda item: not item[0].startswith("concurrent")) if name in found]
