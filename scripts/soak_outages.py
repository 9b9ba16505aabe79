#!/usr/bin/env python3
"""Runs the drivers in which real servers come and go under load, and writes down what their clients saw.

Prints tables in Markdown: docs/how-to/survive-a-failover.md and docs/how-to/use-a-proxy.md have their figures from here.
scripts/report_verification.py shows them, too.

usage: soak_outages.py [--seed S] [--no-build] [--output FILE] [RUN...]
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "gcc"
# What is run: the driver, and its arguments.
RUNS = {"Redis": ["failover", "--server", "0", "--bound", "300"],
        "PgBouncer": ["failover", "--server", "1"],
        "PostgreSQL behind PgBouncer": ["failover", "--server", "2"],
        "PostgreSQL behind PgBouncer, asked in each connect": ["failover", "--server", "3"],
        "one of two Redis, silent": ["failover", "--server", "4"],
        "Redis Cluster": ["cluster", "--seconds", "10"],
        "Redis Sentinel": ["sentinel"]}


def program_of(driver):
    return BUILD / "stress" / f"stress_outage.{driver}"


def build(drivers):
    subprocess.run(["cmake", "--preset", "gcc"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", *sorted(f"stress_outage.{driver}" for driver in drivers)],
                   check=True, stdout=subprocess.DEVNULL)


def figures_of(output):
    """Returns the name and the figures of each `report:` line."""
    return [{"what": what.replace("_", " "), **dict(part.split("=", 1) for part in figures.split())}
            for what, figures in re.findall(r"^report: (\S+) (.*)$", output, re.M)]


def run(arguments, seed):
    """What was seen, and how it ended; None where something is not installed or not allowed."""
    command = [program_of(arguments[0]), *arguments[1:]] + (["--seed", str(seed)] if seed else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if re.search("is not installed|skipped:", done.stdout):
        return {"end": re.search(r"^(.*(?:is not installed|skipped:).*)$", done.stdout, re.M)[1], "rows": [], "held": True}
    said = re.search(r"^(?:BROKEN|VACUOUS): (.*)$", done.stdout, re.M)
    end = "held" if done.returncode == 0 else said[1] if said else f"ended with {done.returncode}"
    return {"end": end, "rows": figures_of(done.stdout), "held": done.returncode == 0}


def table(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    yield "| " + " | ".join("" if name == "what" else name.replace("_", " ") for name in names) + " |"
    yield "|---|" + "--:|" * (len(names) - 1)
    for row in rows:
        yield "| " + " | ".join(row.get(name, "") for name in names) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="another one each time if not given")
    parser.add_argument("--no-build", action="store_true", help="what is built will do")
    parser.add_argument("--output", default=ROOT / "build" / "outages.json")
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"some of: {', '.join(RUNS)}")
    arguments = parser.parse_args()
    chosen = {name: RUNS[name] for name in arguments.runs or RUNS}
    if not arguments.no_build:
        build({words[0] for words in chosen.values()})
    load = round(os.getloadavg()[0], 1)
    runs = {}
    for name, words in chosen.items():
        runs[name] = run(words, arguments.seed)
        print(f"\n{name}: {runs[name]['end']}\n", *table(runs[name]["rows"]), sep="\n", flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.strip()
    written = {"date": datetime.date.today().isoformat(), "commit": commit, "cores": os.cpu_count(), "load": load,
               "runs": runs}
    Path(arguments.output).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    sys.exit(not all(each["held"] for each in runs.values()))


if __name__ == "__main__":
    main()
