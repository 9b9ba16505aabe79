#!/usr/bin/env python3
"""Measures four contenders briefly, writes the report, and checks it in headless Chromium.

usage: page_test.py BUILD FOLDER [PROGRAM...]    of that build; named so that they are built before the test
"""
import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import page as pages

HERE = Path(__file__).resolve().parent
PARTS = ["contention", "connections", "slot-maps", "ranking", "ranking-levels", "curves", "latency", "shared", "shared-counts", "memory", "memory-pools", "build", "peers", "designs", "data"]

# A fault in a page, the edit that makes it, and the message about it.
FAULTS = [
    ('"use strict";\nconst results', '"use strict"; console.error("seeded");\nconst results', "console: seeded"),
    ('if (typeof value !== "number") return value ?? "-";', 'if (value === null || value === undefined) return "-";', "exception: Uncaught TypeError"),
    ("formatter: tick }", "formatter: (value) => `${value} nanoseconds or so`, hideOverlap: false }", '" touches "'),
    ("smallest >= 0.95 ? 1 :", "smallest >= 0.95 ? 0.1 :", "misleads"),
    ("break-inside: avoid;", "", "paper: the chart of ranking is cut"),
    ("history.replaceState(", "void (", "the address does not bring back"),
    ("<noscript><style>.controls, ", "<noscript><style>", "without JavaScript a control is shown"),
    ('href="data:text/csv', 'href="results.csv', "a link leaves the file"),
]


def run(script, *arguments):
    return subprocess.run([sys.executable, "-B", HERE / script, *arguments], capture_output=True, text=True, check=False)


def shown_in(page):
    begin = '<script type="application/json" id="results">'
    return json.loads(page.split(begin)[1].split("</script>")[0])["runs"][0]


def miscounted(build, locked):
    """Without optimisation a compiler locks every atomic store, whatever its order, so Lido cannot be judged."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    optimised = any("register_lido_default" in command["file"] and " -O0" not in command["command"] for command in commands)
    if locked and (locked["mutex_vector"] != 2 or locked["floor"] != 0 or optimised and locked["lido"] != 0):
        yield f"a pair locks so often per operation: {locked}"


def may_sample():
    """Returns whether perf can sample a program here at all."""
    command = ["perf", "record", "-q", "-e", "cpu-clock:u", "-o", "/dev/null", "--", "true"]
    return shutil.which("perf") and subprocess.run(command, capture_output=True, check=False).returncode == 0


def problems_without_charts(data, folder):
    """Without a chart library, tables show every number from the start. Runs last: later pages have no charts."""
    pages.LIBRARY = folder / "no library"
    index = pages.write_page([data], folder)
    if "build/echarts is missing" not in index.read_text(encoding="utf-8"):
        yield "a page without charts does not say why"
    looked = run("check_page.py", index, folder / "screenshots", *PARTS)
    if looked.returncode != 0:
        yield f"without charts: {looked.stdout}{looked.stderr}"


def problems(build, folder):
    folder.mkdir(parents=True, exist_ok=True)
    measured = run("measure.py", build, folder / "results.json", "--contenders", "floor,lido,malloc", "--own", "mutex_vector",
                   "--threads", "2,1", "--pin", "--repetitions", "2", "--min-time", "0.0001", "--slot-maps", "^(churn|concurrent_churn)/",
                   "--commit", "abc1234")
    if measured.returncode != 0:
        yield f"measure.py: {measured.stdout}{measured.stderr}"
        return
    if "s left" not in measured.stdout:
        yield "measure.py does not say how much time is left"
    index = folder / "index.html"
    run("page.py", folder / "results.json", folder)
    page = index.read_text(encoding="utf-8")
    shown = shown_in(page)
    for part in ("rows", "latency", "locked", "memory", "pools", "counts", "builds", "connections", "slot_maps"):
        if not shown[part]:
            yield f"the page has no {part}"
    if shown["context"]["pinned"] != "yes":
        yield "threads were to be pinned, and the page does not say so"
    if not all(level["ns"] > 0 for level in shown["levels"]) or len(shown["levels"]) != 4:
        yield f"the page has not four levels of statistics: {shown['levels']}"
    flames = shown["flames"]
    sampled = may_sample()
    if not ('"lido::' in json.dumps(flames.get("tree")) if sampled else flames.get("missing")):
        yield f"perf may {'' if sampled else 'not '}sample, but the page has {flames}"
    yield from miscounted(build, {row["contender"]: row.get("pair", row.get("error")) for row in shown["locked"]})
    with (folder / "results.csv").open(encoding="utf-8") as file:
        if not any(row["contender"] == "lido" and float(row["ns"]) > 0 for row in csv.DictReader(file)):
            yield "results.csv has no time of Lido"
    looked = run("check_page.py", index, folder / "screenshots", *PARTS, *(["flames-graph"] if sampled else []))
    if looked.returncode != 0:
        yield looked.stdout + looked.stderr
    yield from problems_of_look(json.loads((folder / "results.json").read_text(encoding="utf-8")), folder / "broken")
    yield from problems_without_charts(json.loads((folder / "results.json").read_text(encoding="utf-8")), folder / "without_charts")


def problems_of_look(data, folder):
    """The check itself is tested, too: it finds each fault of a page with many. One contender lacks a number of threads."""
    data["benchmarks"] = [entry for entry in data["benchmarks"] if not entry["name"].startswith("burst/malloc/threads:1")]
    index = pages.write_page([data], folder)
    page = index.read_text(encoding="utf-8")
    for old, new, _ in FAULTS:
        if old not in page:
            yield f"the page has no {old} to break"
        page = page.replace(old, new)
    index.write_text(page, encoding="utf-8")
    said = run("check_page.py", index, folder / "screenshots").stdout
    yield from (f"check_page.py does not see that '{fault}', but:\n{said}" for _, _, fault in FAULTS if fault not in said)


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]), Path(sys.argv[2])))
    for problem in found:
        print(problem)
    print("report:", "FAILED" if found else "ok")
    sys.exit(1 if found else 0)
