#!/usr/bin/env python3
"""Writes the documentation's figures from one run of the benches: README's chart and the table of docs/explanation/benchmarks.md.

usage: publish.py RESULTS.json    takes the medians of this run into docs/explanation/benchmarks.json, and writes both from them
       publish.py                 writes both from the existing medians
       publish.py --check         fails if the chart or the table differs from the medians

RESULTS.json is the result of `scripts/bench.sh --publish`. A disturbed run is refused.
"""
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import page
import tables

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = [("burst", 1), ("burst", 2), ("burst", 8), ("handoff", 2), ("handoff", 8), ("near_exhaustion", 2), ("moving", 2), ("churn", 1), ("churn", 8), ("pair", 1),
           ("pair", 8)]
CHART = ("burst", 2)  # every peer runs it
HEADS = {"burst": "burst of 256", "handoff": "hand-off", "near_exhaustion": "near exhaustion", "moving": "moving", "churn": "churn", "pair": "pair"}
TITLES = {"lido": "Lido", "brpc_model": "brpc's design, a model", "floor": "floor: shares nothing", "dpdk": "DPDK mempool", "malloc": "glibc malloc", "boost_lockfree_stack": "boost::lockfree::stack",
          "moodycamel_tokens": "moodycamel, tokens", "mutex_vector": "mutex + vector"}
MARKS = "<!-- from benchmarks.json, by bench/report/publish.py -->", "<!-- end -->"


class Places:
    """The files of a tree."""

    def __init__(self, root):
        self.data = root / "docs/explanation/benchmarks.json"
        self.text = root / "docs/explanation/benchmarks.md"
        self.images = root / "docs/images"


def medians_of(data):
    """Returns the stored part of a run: a row for each contender and column."""
    if tables.is_disturbed(data["benchmarks"]):
        sys.exit("publish: something else ran on this machine meanwhile; measure again on a quiet one")
    run, rows = page.run_data(page.runs_of([data])[0])
    context = run["context"]
    kept = [{key: row[key] for key in ("workload", "contender", "threads", "ns", "multiple", "low", "high")}
            for row in rows if (row["workload"], row["threads"]) in COLUMNS and row["ns"] and row["bytes"] == 64 and row["contender"] != "ring_alone"]
    return {**{key: context[key] for key in ("processor", "cores", "compiler", "repetitions", "spread", "commit")}, "date": context["date"][:10], "rows": kept}


def write_data(path, data):
    rows = ",\n".join("  " + json.dumps(row) for row in data["rows"])
    heads = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in data.items() if key != "rows")
    path.write_text(f"{{\n{heads},\n \"rows\": [\n{rows}\n ]\n}}\n", encoding="utf-8")


def short(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def times_text(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def table_of(data):
    cells = {(row["contender"], row["workload"], row["threads"]): row for row in data["rows"]}
    columns = [column for column in COLUMNS if any((row["workload"], row["threads"]) == column for row in data["rows"])]

    def text(name, column):
        row = cells.get((name, *column))
        if not row:
            return "-"
        return short(row["ns"]) + (f" ({times_text(row['multiple'])})" if row["multiple"] and name != "floor" else "")

    names = sorted({row["contender"] for row in data["rows"]}, key=page.BEST_KNOWN.index)
    heads = [f"{HEADS[workload]}, {threads} thread{'s' if threads > 1 else ''}" for workload, threads in columns]
    lines = ["| contender | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(columns),
             *("| " + " | ".join([name, *(text(name, column) for column in columns)]) + " |" for name in names)]
    spread = f" In half of the cells, the repetitions spread by more than ±{100 * data['spread']:.0f} % of the median." if data["spread"] else ""
    return "\n".join([f"{data['processor']}, {data['cores']} cores, {data['compiler']}, {data['date']}, medians of {data['repetitions']}.{spread}", "", *lines])


def with_table(text, table):
    begin, end = MARKS
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end, 1)[1]}"


def chart_of(data):
    """Returns the texts and dots of README's chart."""
    rows = sorted((row for row in data["rows"] if (row["workload"], row["threads"]) == CHART), key=lambda row: row["ns"])
    whiskers = all(row["low"] for row in rows)
    scale = {row["contender"]: (row["multiple"] or 1) / row["ns"] for row in rows}
    return {
        "title": f"Bursts of 256 objects of 64 bytes, {CHART[1]} threads",
        "subtitle": "time of an acquire or a release, as a multiple of the floor; logarithmic" + ("; whiskers: all repetitions" if whiskers else ""),
        "caption": f"{data['processor']}, {data['cores']} cores, {data['compiler']}; {data['date']}; medians of {data['repetitions']}",
        "rows": [{"name": TITLES.get(row["contender"], row["contender"]), "own": row["contender"] == "lido", "value": row["multiple"] or 1,
                  "low": row["low"] and row["low"] * scale[row["contender"]], "high": row["high"] and row["high"] * scale[row["contender"]],
                  "label": f"{times_text(row['multiple'] or 1)}× ({short(row['ns'])} ns)"} for row in rows]}


def draw(places, data):
    modules = ROOT / "build/echarts/node_modules"
    if not modules.exists():
        sys.exit("publish: the chart needs node and npm; scripts/setup.sh bench gets its library into build/echarts")
    subprocess.run(["node", ROOT / "bench/report/chart.cjs", places.images], input=json.dumps(chart_of(data)), text=True, check=True,
                   env={**os.environ, "NODE_PATH": str(modules)})


def problems(places):
    """Returns where the chart or the table differs from the medians."""
    data = json.loads(places.data.read_text(encoding="utf-8"))
    text = places.text.read_text(encoding="utf-8")
    if with_table(text, table_of(data)) != text:
        yield f"{places.text.name}: the table is not that of {places.data.name}; run bench/report/publish.py"
    chart = chart_of(data)
    for theme in ("light", "dark"):
        path = places.images / f"contention-{theme}.svg"
        said = [html.unescape(part) for part in re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))]
        names, labels = [row["name"] for row in chart["rows"]], [row["label"] for row in chart["rows"]]
        missing = [part for part in (chart["title"], chart["subtitle"], chart["caption"]) if part not in said]
        if missing or [part for part in said if part in names] != names or [part for part in said if "ns)" in part] != labels:
            yield f"{path.name}: the chart is not that of {places.data.name}; run bench/report/publish.py"


def main():
    places = Places(ROOT)
    if sys.argv[1:] == ["--check"]:
        found = list(problems(places))
        print("\n".join(found) or "publish: chart and table agree")
        sys.exit(1 if found else 0)
    if len(sys.argv) > 2 or sys.argv[1:2] and sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    if sys.argv[1:]:
        write_data(places.data, medians_of(tables.read(sys.argv[1])))
    data = json.loads(places.data.read_text(encoding="utf-8"))
    places.text.write_text(with_table(places.text.read_text(encoding="utf-8"), table_of(data)), encoding="utf-8")
    draw(places, data)


if __name__ == "__main__":
    main()
