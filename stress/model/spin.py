#!/usr/bin/env python3
"""Proves a SPIN model, or requires that it is refuted.

Usage: spin.py <model.pml> [--refute] [-D<name>[=<value>]]...
Needs spin(1) and cc(1). Explores all states: an error, or an incomplete search, is no proof. With --refute
the model is broken on purpose, and SPIN must find an error.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(folder: str, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--refute", action="store_true")
    arguments, defines = parser.parse_known_args()
    if bad := [define for define in defines if not define.startswith("-D")]:
        parser.error(f"not a definition: {' '.join(bad)}")
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "spin", *defines, "-a", str(arguments.model.resolve()))
        run(folder, "cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=4096", "-o", "pan", "pan.c")
        output = run(folder, "./pan", "-m1000000")
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    what = re.search(r"^pan:\d+: (.*?)(?: \(at depth \d+\))?$", output, re.MULTILINE)
    if errors is None or states is None:
        sys.exit(f"the output of pan is not understood:\n{output}")
    if "Search not completed" in output and not what:
        sys.exit(f"the search was cut off:\n{output}")
    found = what[1] if what else f"{errors[1]} errors"
    print(f"{arguments.model.name} {' '.join(defines)}: {found}, {states[1]} states")
    refuted = int(errors[1]) > 0
    if refuted != arguments.refute:
        print("a broken rule was not noticed" if arguments.refute else output, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
