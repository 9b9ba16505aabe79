#!/usr/bin/env python3
"""Writes build/verification.md from what the last runs of the tests left behind.

Reads, of each preset, the results that scripts/test.sh lets ctest write (build/<preset>/junit.xml), and the
branches that scripts/coverage.sh counted (build/coverage/<layer>.json). Also what scripts/stress_mutants.py,
scripts/slips.py, scripts/soak_chaos.py and scripts/soak_outages.py found (files of build/). Nothing is computed here that a run did not
print; what did not run is said to be missing, down to the single test.

usage: report_verification.py [--output FILE]
"""
import argparse
import json
import platform
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from report_measured import checked_row, coverage_row, coverage_section, sharing_row, slips_row
from report_runs import PRESETS, ROOT, git, read_preset, table

LABELS = ["unit", "death", "stress", "model", "mutant", "fault", "fuzz", "server", "chaos", "outage", "report", "package", "distribution",
          "docs", "house"]
MOST_NAMED = 30


def tree_lines(runs):
    """Which sources these are, and which runs may be of older ones."""
    changed = git("status", "--porcelain", "--untracked-files=no")
    dirty = " with changes that are not committed" if changed else ""
    yield f"Commit {git('rev-parse', '--short=12', 'HEAD')}{dirty}."
    committed = int(git("show", "--no-patch", "--format=%ct", "HEAD"))
    old = [PRESETS[preset] for preset, run in runs.items() if run and run.ended < committed]
    if old:
        yield f"**Ran before that commit: {'; '.join(old)}.**"
    yield ""


def missing_lines(runs):
    for preset, run in runs.items():
        if run and run.left_out:
            kinds = ", ".join(f"{count} {label}" for label, count in sorted(run.left_out.items()))
            yield f"{PRESETS[preset]}, left out: {kinds}."
            yield ""
        if run and run.missing:
            some = ", ".join(f"`{name}`" for name in run.missing[:MOST_NAMED])
            more = len(run.missing) - MOST_NAMED
            yield (f"**{PRESETS[preset]}: {len(run.missing)} tests did not run:** {some}"
                   f"{f' and {more} more' if more > 0 else ''}.")
            yield ""


def absent_lines(runs):
    """What GCC runs and a sanitizer's build does not even have."""
    for preset in ("tsan", "asan"):
        run = runs[preset]
        if run is None:
            continue
        labels = {test.label for test in run.tests}
        absent = sorted(test.name for test in runs["gcc"].tests if test.label in labels and test.name not in run.listed)
        programs = Counter(re.split(r"[./]", name.removeprefix("Modes/"))[0] for name in absent)
        if absent:
            yield (f"{PRESETS[preset]}, not built there: {len(absent)} tests, of "
                   f"{', '.join(f'`{name}` {count}' for name, count in sorted(programs.items()))}.")
            yield ""


def machine():
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
                  if line.startswith("model name")), platform.machine())
    cores = subprocess.run(["nproc"], check=True, capture_output=True, text=True).stdout.strip()
    compilers = [subprocess.run([name, "-dumpfullversion"] if name == "g++" else [name, "-dumpversion"], check=True,
                                capture_output=True, text=True).stdout.strip() for name in ("g++", "clang++")]
    return f"{model}, {cores} cores; GCC {compilers[0]}, Clang {compilers[1]}"


def tests_section(runs):
    yield "## Tests"
    yield ""
    rows = []
    for preset, title in PRESETS.items():
        if runs[preset] is None:
            rows.append([title, "", "not run", "", "", ""])
            continue
        tests = runs[preset].tests
        counts = Counter(test.label for test in tests)
        results = Counter(test.result for test in tests)
        kinds = ", ".join(f"{counts[label]} {label}" for label in LABELS if counts[label])
        rows.append([title, runs[preset].date, results["passed"], results["failed"], results["skipped"], kinds])
    yield from table(["build", "run", "passed", "failed", "skipped", "of which"], rows,
                     ["---", "---", "--:", "--:", "--:", "---"])
    yield from missing_lines(runs)
    yield from absent_lines(runs)


def operations_of(test):
    held = re.search(r": (\d+) operations, held", test.output)
    return int(held[1]) if held else 0


def stress_rows(tests):
    for test in tests:
        thefts = re.search(r"thefts (\d+), heavy fences (\d+)", test.output)
        seed = re.search(r"seed (\d+)", test.output)
        yield [f"`{test.name}`", f"{operations_of(test):,}" if operations_of(test) else test.result,
               thefts[1] if thefts else "-", thefts[2] if thefts else "-", seed[1] if seed else "-"]


def stress_section(tests):
    stress = [test for test in tests if test.label == "stress"]
    yield "## Stress"
    yield ""
    for title, fuzzed in (("The library as it ships", False),
                          ("With threads that lose their processor inside the windows of its operations", True)):
        some = [test for test in stress if (".fuzzed." in test.name) == fuzzed]
        broken = sum(test.result != "passed" for test in some)
        yield (f"{title}: {sum(map(operations_of, some)):,} operations, {len(some)} runs, "
               f"{broken} of them broke an invariant or did not end.")
        yield ""
        yield from table(["test", "operations", "caches robbed", "heavy fences", "seed"], list(stress_rows(some)))


def figure(tests, pattern, name):
    """What the tests of that name report of one figure, summed up."""
    return sum(int(value) for test in tests if re.search(pattern, test.name)
               for value in re.findall(rf"^report: .*\b{name}=(\d+)", test.output, re.M))


def failures(tests, pattern):
    chosen = [test for test in tests if re.search(pattern, test.name)]
    return f"{sum(test.result == 'failed' for test in chosen)} of {len(chosen)} tests fail"


def count_suppressions():
    """Files of suppressions and attributes that switch a sanitizer off, in what is built and run."""
    done = subprocess.run(["git", "grep", "-lE", r"no_sanitize|suppressions=|DISABLE_SANITIZER", "--", "include", "src",
                           "tests", "stress", "cmake", "CMake*", "scripts/*.sh", "scripts/tidy*"],
                          cwd=ROOT, check=False, capture_output=True, text=True)
    return len(done.stdout.split())


def switched_off():
    """Options of sanitizers that tests set, each with the file that says why."""
    done = subprocess.run(["git", "grep", "-noE", r"[A-Z]+SAN_OPTIONS=[a-z_0-9=:]+", "--", "tests", "stress", "scripts/*.sh"],
                          cwd=ROOT, check=False, capture_output=True, text=True)
    return [f"`{line.split(':', 2)[2]}` ({line.split(':')[0]})" for line in done.stdout.splitlines()]


def numbers_section(runs):
    gcc = runs["gcc"].tests
    sanitized = [test for preset in ("tsan", "asan") if runs[preset] for test in runs[preset].tests]
    mutants = model_mutants(gcc)
    dead = sum(row[1] in ("killed", "crashed", "endless") for row in mutants)
    alike = sum(row[1] == "equivalent" for row in mutants)
    yield "## In short"
    yield ""
    yield from table(["what", "figure", "seen by"], [
        ["slots lost, or handed out twice", failures(gcc, r"^(stress|model|fuzz)\."),
         f"{sum(map(operations_of, gcc)):,} operations on threads; model checker and fuzzing below"],
        ["wake-ups lost", failures(gcc, r"blocked_acquire_wakes|^model\.waiting"), "stress and model"],
        ["histories that are not linearizable", failures(gcc, r"^stress\..*history_is_linearizable"),
         f"{figure(gcc, 'history', 'operations'):,} operations, {figure(gcc, 'history', 'refusals'):,} refusals"],
        ["rounds without progress beside a stalled thread",
         failures(gcc, r"^fault\.(stalled|sleeping)_thread_"),
         f"{figure(gcc, 'stalled_thread', 'stalls')} stalls in {figure(gcc, 'stalled_thread', 'windows')} windows, "
         f"{figure(gcc, 'sleeping_thread', 'rounds')} sleeps anywhere"],
        ["leaks and slots lost after an injected fault",
         failures(gcc, r"^fault\.(sweep|growth|allocations|threads$)"),
         f"{figure(gcc, r'fault.(sweep|growth|allocations)', 'points')} faults"],
        ["slots lost by threads that end, pools that end, forks",
         failures(gcc, r"^fault\.(threads_and_pools|late_use|forked_child)|^Fork\."),
         f"{figure(gcc, 'come_and_go', 'threads_born'):,} threads, {figure(gcc, 'come_and_go', 'pools_made'):,} pools, "
         f"{figure(gcc, 'forked_child', 'forks')} forks"],
        ["mutants killed", f"{dead} of {len(mutants) - alike}", f"model checker; {alike} more are equivalent"],
        ["negative controls on threads that are not noticed", failures(gcc, r"^mutant\.(?!model)"), "drivers and fuzz inputs"],
        slips_row(),
        ["sanitizer reports", failures(sanitized, "") if sanitized else "not run",
         f"with {count_suppressions()} suppressions; checks switched off: {', '.join(switched_off()) or 'none'}"],
        coverage_row(),
        checked_row(),
        sharing_row(),
    ], ["---", "---", "---"])


def figures_section(tests):
    yield "## Histories and faults"
    yield ""
    rows = []
    for test in tests:
        for line in re.findall(r"^report: (.*)$", test.output, re.M):
            rows.append([f"`{test.name}`", ", ".join(part.replace("=", " ").replace("_", " ") for part in line.split()
                                                     if "=" in part), test.result])
    yield from table(["test", "figures", "result"], rows, ["---"] * 3)


def chaos_section():
    path = ROOT / "build" / "chaos.json"
    yield "## Chaos"
    yield ""
    if not path.exists():
        yield "For seconds in the tests above; for minutes: not run (`scripts/soak_chaos.py`)."
        yield ""
        return
    soak = json.loads(path.read_text(encoding="utf-8"))
    yield (f"For minutes, by `scripts/soak_chaos.py`, {soak['date']}, commit {soak['commit']}, at a load of "
           f"{soak['load']:g} on {soak['cores']} cores before it began:")
    yield ""
    runs = soak["runs"]
    figures = list(dict.fromkeys(name for run in runs.values() for name in run["figures"] if name != "backend"))
    yield from table(["", *runs], [["seconds", *(run["seconds"] for run in runs.values())],
                                   *([name.replace("_", " "), *(run["figures"].get(name, "-") for run in runs.values())]
                                     for name in figures),
                                   ["end", *(run["end"] for run in runs.values())]])


def outages_section():
    path = ROOT / "build" / "outages.json"
    yield "## Outages"
    yield ""
    if not path.exists():
        yield "Not run (`scripts/soak_outages.py`)."
        yield ""
        return
    soak = json.loads(path.read_text(encoding="utf-8"))
    yield (f"Servers that come and go under load, by `scripts/soak_outages.py`, {soak['date']}, commit {soak['commit']}, at a "
           f"load of {soak['load']:g} on {soak['cores']} cores before it began.")
    yield ""
    for name, run in soak["runs"].items():
        yield f"{name}: {run['end']}"
        yield ""
        names = list(dict.fromkeys(figure for row in run["rows"] for figure in row))
        if names:
            yield from table([figure.replace("what", "").replace("_", " ") for figure in names],
                             [[row.get(figure, "-") for figure in names] for row in run["rows"]])


def lines_of(tests, name, pattern):
    for test in tests:
        if test.name.startswith(name):
            yield from re.findall(pattern, test.output, re.M)


def model_section(tests):
    yield "## Model checker"
    yield ""
    scenarios = list(lines_of(tests, "model.", r"^(\S+) +(\w+) +(\d+) executions +(\d+) steps +([\d.]+) s +(.*)$"))
    if not scenarios:
        yield "Not run."
        yield ""
        return
    yield (f"{sum(int(s[2]) for s in scenarios):,} executions of {len({s[0] for s in scenarios})} scenarios, "
           f"{sum(int(s[3]) for s in scenarios):,} steps.")
    yield ""
    yield from table(["scenario", "search", "executions", "result"],
                     [[f"`{s[0]}`", s[1], f"{int(s[2]):,}", s[5]] for s in scenarios], ["---", "---", "--:", "---"])
    yield "The checker's own tests, programs of a few instructions with the outcomes they may have:"
    yield ""
    yield "```text"
    for test in tests:
        if test.name.startswith("model.litmus"):
            yield test.output
    yield "```"
    yield ""


def spin_section(tests):
    """The waiters of resource pools as a model of their own: proofs, and broken ones that have to be refuted."""
    yield "## SPIN"
    yield ""
    rows = []
    for test in tests:
        found = re.search(r"^\S+\.pml .*?: (.*), (\d+) states$", test.output, re.M)
        if ".spin." in test.name and found:
            rows.append([f"`{test.name}`", found[1], f"{int(found[2]):,}", test.result])
    if not rows:
        yield "Not run."
        yield ""
        return
    yield "All states of `stress/model/resource_waiters.pml`; of a mutant as many as it took to refute it."
    yield ""
    yield from table(["test", "what was found", "states", "result"], rows, ["---", "---", "--:", "---"])


def others_that_noticed(tests, rule):
    """Drivers and fuzz targets that ctest has seen to notice a broken rule."""
    names = [test.name.removeprefix("mutant.") for test in tests
             if test.label == "mutant" and test.result == "passed" and not test.name.startswith("mutant.model")]
    mine = [name.split(".")[1:] for name in names if name.split(".")[0] == rule]
    return ", ".join(name[0].replace("fuzz_", "fuzz ") if name else "driver" for name in mine) or "-"


def plain_word(plain, rule):
    found = plain.get("rules", {}).get(rule)
    if found is None:
        return "not tried"
    if found["runs"] == 0:
        return "no driver"
    if found["noticed_by"] is None:
        return "**missed**"
    return f"`{found['noticed_by'].removeprefix('stress.')}`, run {found['runs']}"


def plain_summary(plain):
    if not plain:
        return "Plain stress has not been tried on them: `scripts/stress_mutants.py`."
    missed = sum(found["noticed_by"] is None and found["runs"] > 0 for found in plain["rules"].values())
    later = ", ".join(f"`{rule}` on {found['date']} at a load of {found['load']:g}"
                      for rule, found in plain["rules"].items() if "date" in found)
    return (f"Plain stress alone, {len(plain['drivers'])} runs of the drivers of {plain['seconds']:g} s each until one "
            f"notices: {missed} of {len(plain['rules'])} rules missed (`scripts/stress_mutants.py`, {plain['date']}, "
            f"at a load of {plain['load']:g} on {plain['cores']} cores{'; ' + later if later else ''}).")


def model_mutants(tests):
    """Name, end, executions, scenario, search and what was seen, of each."""
    pattern = r"^(\S.*?) {2,}(killed|crashed|endless|SURVIVED) +(\d+) +(\S*) +(\S*) +(.*)$"
    found = []
    for name, end, executions, scenario, search, seen in lines_of(tests, "mutant.", pattern):
        if scenario == "known:":  # survived, and no scenario follows but the reason
            end, scenario, search, seen = "equivalent", "", "", f"{search} {seen}"
        found.append([name.strip(), end, f"{int(executions):,}", scenario and f"`{scenario}`", search, seen])
    return found


def mutants_section(tests):
    yield "## Mutants"
    yield ""
    found = model_mutants(tests)
    dead = sum(row[1] in ("killed", "crashed", "endless") for row in found)
    alike = sum(row[1] == "equivalent" for row in found)
    yield (f"By the model checker: {dead} of {len(found) - alike} killed; {alike} more change nothing that an "
           "execution could show, each for the reason given.")
    yield ""
    path = ROOT / "build" / "plain_stress.json"
    plain = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    yield ("Broken rules. Executions are those of all scenarios before the one that shows it; \"also\" names drivers "
           "and fuzz inputs on real threads that notice it too.")
    yield plain_summary(plain)
    yield ""
    yield from table(["rule", "end", "executions", "scenario", "search", "what was seen", "also", "plain stress"],
                     [[f"`{row[0]}`", *row[1:], others_that_noticed(tests, row[0]), plain_word(plain, row[0])]
                      for row in found if " " not in row[0]], ["---", "---", "--:", "---", "---", "---", "---", "---"])
    yield ("Weakened orders. Plain stress was not tried on them: most acquire and release orders are no instructions of "
           "their own on x86-64, where it runs, so it could not tell them apart. Nor was it on the rules that are only "
           "in the table below this one, which the model checker does not come by.")
    yield ""
    yield from table(["order", "end", "executions", "scenario", "search", "what was seen"],
                     [[f"`{row[0]}`", *row[1:]] for row in found if " " in row[0]], ["---", "---", "--:", "---", "---", "---"])
    yield "Drivers and fuzz inputs on real threads, each with one rule broken:"
    yield ""
    seen = [(test, re.search(r"^BROKEN: (.*)$", test.output, re.M)) for test in tests if test.label == "mutant"]
    yield from table(["test", "seconds", "what was seen"],
                     [[f"`{test.name}`", f"{test.seconds:.1f}", re.sub(r" \((seed|input).*\)$", "", broken[1])]
                      for test, broken in seen if broken and not test.name.startswith("mutant.model")],
                     ["---", "--:", "---"])


def fuzz_section(runs):
    yield "## Fuzzing"
    yield ""
    rows = []
    for preset, run in runs.items():
        for test in run.tests if run else []:
            if test.label != "fuzz":
                continue
            units = re.search(r"number_of_executed_units: +(\d+)", test.output)
            inputs = re.search(r"(\d+) inputs replayed", test.output)
            what = f"{int(units[1]):,} inputs tried" if units else f"{inputs[1]} inputs replayed" if inputs else "-"
            rows.append([f"`{test.name}`", PRESETS[preset], what, test.result])
    yield from table(["test", "build", "inputs", "result"], rows, ["---", "---", "--:", "---"])


def document(runs):
    gcc = runs["gcc"].tests
    yield "# Verification"
    yield ""
    yield "Written by `scripts/report_verification.py` from the runs of `scripts/test.sh --soak`."
    yield ""
    yield f"{runs['gcc'].date:%d %B %Y}; {machine()}."
    yield from tree_lines(runs)
    yield from numbers_section(runs)
    yield from tests_section(runs)
    yield from model_section(gcc)
    yield from spin_section(gcc)
    yield from mutants_section(gcc)
    yield from stress_section(gcc)
    yield from figures_section(gcc)
    yield from chaos_section()
    yield from outages_section()
    yield from fuzz_section(runs)
    yield from coverage_section()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=ROOT / "build" / "verification.md")
    arguments = parser.parse_args()
    runs = {preset: read_preset(preset) for preset in PRESETS}
    if runs["gcc"] is None:
        sys.exit("no results in build/gcc: run scripts/test.sh first")
    Path(arguments.output).write_text("\n".join(document(runs)).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
