#!/usr/bin/env python3
"""What the model checker did, as Markdown: litmus tests, scenarios, mutants.

Usage: report_model.py <lido_model> [--executions N] [--stress FILE]
Runs the program and prints a section for the page about verification. Nothing in it depends on the
machine: counts, not times. FILE is a JSON object from the name of a mutant to what plain stress made
of it ("found" or "missed in 60 s"), for those mutants that have been tried that way.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

RUN_LINE = re.compile(r"^(\S+)\s+(dfs|pct|random|solo)\s+(\d+) executions\s+(\d+) steps\s+[\d.]+ s\s+(.*)$")
LITMUS_LINE = re.compile(r"^(\S+)\s{1,}(.+?)\s{2,}(.+?)\s{2,}(allowed, a gap|allowed|forbidden)\s+(\d+)(\s+WRONG)?$")


def output(*command: str) -> list[str]:
    """The lines a command prints; what it found wrong is in them."""
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def litmus(program: str) -> str:
    matches = [match for line in output(program, "litmus") if (match := LITMUS_LINE.match(line))]
    rows = [[m[1], m[2], f"`{m[3]}`", m[4], m[5] + (" **wrong**" if m[6] else "")] for m in matches]
    return "### Tests of the checker\n\n" + table(["test", "program", "outcome", "is", "seen"], rows)


def scenarios(program: str, executions: int) -> str:
    counts: dict[str, dict[str, str]] = defaultdict(dict)
    total = steps = 0
    for line in output(program, "run", "--executions", str(executions)):
        if match := RUN_LINE.match(line):
            name, mode, count, step_count, end = match.groups()
            note = " (all)" if end.startswith("all") else " **fails**" if end.startswith("fails") else ""
            counts[name][mode] = count + note
            total += int(count)
            steps += int(step_count)
    modes = ["dfs", "pct", "random", "solo"]
    rows = [[f"`{name}`"] + [found.get(mode, "-") for mode in modes] for name, found in counts.items()]
    head = f"### Scenarios\n\n{total:,} executions, {steps:,} steps. A name with `one_bit` must fail.\n\n"
    return head + table(["scenario"] + modes, rows)


def mutants(program: str, stress: dict[str, str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutants.json"
        output(program, "mutants", "--json", str(file))
        found = json.loads(file.read_text(encoding="utf-8"))
    dead = sum(each["end"] != "SURVIVED" for each in found)
    rows = [
        [
            f"`{each['mutant']}`",
            each["breaks"] if each["kind"] == "rule" else "order",
            each["end"] if each["end"] != "SURVIVED" else "not to be told apart",
            f"`{each['scenario']}` ({each['mode']})" if each["scenario"] else "-",
            f"{each['executions']:,}",
            stress.get(each["mutant"], "not run"),
        ]
        for each in found
    ]
    head = ["mutant", "breaks", "end", "by", "after executions", "plain stress"]
    return f"### Mutants\n\n{dead} of {len(found)} are noticed.\n\n" + table(head, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--stress", type=Path)
    chosen = parser.parse_args()
    stress = json.loads(chosen.stress.read_text(encoding="utf-8")) if chosen.stress else {}
    print(litmus(chosen.program), scenarios(chosen.program, chosen.executions), mutants(chosen.program, stress), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
