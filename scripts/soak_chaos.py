#!/usr/bin/env python3
"""Runs the chaos driver for minutes, on each backend that it can have, and writes down what it reported.

The drivers are those of ctest (label chaos), which run for seconds there. scripts/report_verification.py shows the
result.

usage: soak_chaos.py [--seconds N] [--seed S] [--no-build] [--output FILE]
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
PROGRAM = BUILD / "stress" / "stress_resource.chaos"
BACKENDS = {"echo server of the process": [], "Redis": ["--redis", "1"],
            "PostgreSQL": ["--postgres", "1"]}


def build():
    subprocess.run(["cmake", "--preset", "gcc"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", PROGRAM.name], check=True, stdout=subprocess.DEVNULL)


def soak(arguments, seconds, seed):
    """The figures of one run, and how it ended."""
    # One fault in eight may last for seconds, longer than anybody waits.
    command = [PROGRAM, *arguments, "--outage", "4000", "--seconds", str(seconds)] + (["--seed", str(seed)] if seed else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * seconds + 120)
    if "is not installed" in done.stdout:
        return None
    report = re.search(r"^report: \S+ (.*)$", done.stdout, re.M)
    said = re.search(r"^(?:BROKEN|VACUOUS): (.*)$", done.stdout, re.M)
    figures = dict(part.split("=", 1) for part in report[1].split()) if report else {}
    end = "held" if done.returncode == 0 else said[1] if said else f"ended with {done.returncode}"
    return {"seconds": seconds, "end": end, "figures": figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600, help="of each backend")
    parser.add_argument("--seed", type=int, default=0, help="another one each time if not given")
    parser.add_argument("--no-build", action="store_true", help="what is built will do")
    parser.add_argument("--output", default=ROOT / "build" / "chaos.json")
    arguments = parser.parse_args()
    if not arguments.no_build:
        build()
    load = round(os.getloadavg()[0], 1)
    runs = {name: soak(options, arguments.seconds, arguments.seed) for name, options in BACKENDS.items()}
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.strip()
    written = {"date": datetime.date.today().isoformat(), "commit": commit, "cores": os.cpu_count(), "load": load,
               "runs": {name: run for name, run in runs.items() if run}}
    Path(arguments.output).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    for name, run in written["runs"].items():
        print(f"{name}: {run['end']}; {run['figures']}")
    missing = BACKENDS.keys() - written["runs"].keys()
    if missing:
        print("not installed:", ", ".join(sorted(missing)))
    sys.exit(bool(missing) or any(run["end"] != "held" for run in written["runs"].values()))


if __name__ == "__main__":
    main()
