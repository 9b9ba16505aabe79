#!/usr/bin/env python3
"""Breaks one rule after another under plain stress, and writes down which of them no driver noticed.

Plain: the stress drivers on real threads, which do nothing at their schedule points, with the arguments of ctest, for
a few seconds each. One build serves all rules: its library asks at run time which rule is broken (LIDO_BROKEN_RULE).
For each rule the drivers run one after another until one notices it; "no driver" means that none has come by
where it is broken. Several rules are tried at once.
scripts/report_verification.py reads the result, which says how busy the machine was. Where rules are named, what was
found of the others before stays, and theirs says when it was found, and at what load.

usage: stress_mutants.py [--seconds N] [--jobs N] [--only REGEX] [--no-build] [--output FILE] [RULE...]
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "stress" / "mutants"))
import overlay  # noqa: E402

BUILD = ROOT / "build" / "gcc"
UNBROKEN = "none"
# The tests that come by where the rules of a file of stress/mutants/ are broken: of other files, all do.
COME_BY = {
    "slot_maps": r"^stress\.slot_map\.",
    "concurrent_slot_maps": r"^stress\.slot_map\.",
    "pool_kernel": r"^stress\.resource\.",
    "resource_pools": r"^stress\.resource\.",
    "keyed_resource_pools": r"^stress\.resource\.(keys|no_waiter_beside)_",
}


def build():
    subprocess.run(["cmake", "--preset", "gcc"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "lido_breakable_drivers"], check=True,
                   stdout=subprocess.DEVNULL)


def plain_drivers(only):
    """Name and arguments of each plain stress test that matches, those of the usual pool, and the impatient, first."""
    # Not from ctest, which names no command of a program that is not built.
    listed = (BUILD / "stress" / "CTestTestfile.cmake").read_text(encoding="utf-8")
    drivers = []
    for name, command in re.findall(r"^add_test\(\[=\[(stress\.\S+)\]=\] (.*)\)$", listed, re.M):
        program, *arguments = re.findall(r'"([^"]*)"', command)
        plain = BUILD / "stress" / Path(program).name.replace("stress_", "breakable_", 1)
        if "--seconds" not in arguments or "--operations" in arguments or ".fuzzed." in name or not re.search(only, name):
            continue  # a number of operations takes as long as it takes; those are not plain
        if not plain.exists():
            print(f"{name}: left out, it has no build that can be broken", flush=True)
            continue
        at = arguments.index("--seconds")
        drivers.append((name, [str(plain), *arguments[:at], *arguments[at + 2:]]))
    return sorted(drivers, key=lambda driver: not driver[0].endswith((".revocable", ".treiber", ".impatient")))


def run_driver(command, rule, seconds):
    """What the driver said against the library, or nothing; and whether it came by the rule."""
    try:
        done = subprocess.run([*command, "--seconds", str(seconds)], capture_output=True, text=True, check=False,
                              timeout=10 * seconds + 20, env=dict(os.environ, LIDO_BROKEN_RULE=rule, LIDO_SCHEDULE="plain"))
    except subprocess.TimeoutExpired:
        return "no end", True
    if done.returncode == 0:
        return None, "the broken rule was met" in done.stdout
    if done.returncode < 0:
        return f"signal {-done.returncode}", True
    said = re.search(r"^(BROKEN|VACUOUS): (.*?)(?: \(seed \d+\))?$", done.stdout, re.M)
    if said and said[1] == "VACUOUS":  # too little happened to say anything
        return None, "the broken rule was met" in done.stdout
    return said[2] if said else f"exit status {done.returncode}", True


def try_rule(rule, drivers, seconds):
    start = time.monotonic()
    runs, noticed_by, said, met = 0, None, None, False
    for runs, (name, command) in enumerate(drivers, start=1):
        said, met_here = run_driver(command, rule, seconds)
        met |= met_here
        if said is not None:
            noticed_by = name
            break
    seconds = round(time.monotonic() - start, 1)
    end = noticed_by or ("missed" if met else "no driver")
    print(f"{rule:<22} {end:<50} {seconds:>6} s  {said or ''}", flush=True)
    return {"noticed_by": noticed_by, "said": said, "runs": runs if met else 0, "seconds": seconds}


def added(before, some):
    """What was found before of all rules, with what was found now of some."""
    of_now = {name: some[name] for name in ("date", "seconds", "load")}
    before["rules"].update({rule: {**found, **of_now} for rule, found in some["rules"].items()})
    return before


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2, help="of each driver and rule")
    parser.add_argument("--jobs", type=int, default=2, help="rules tried at once")
    parser.add_argument("--only", default="", help="tests whose names match; all if not given")
    parser.add_argument("--no-build", action="store_true", help="what is built will do")
    parser.add_argument("--output", default=ROOT / "build" / "plain_stress.json")
    parser.add_argument("rules", nargs="*", help="all if none is named")
    arguments = parser.parse_args()
    if not arguments.no_build:
        build()
    drivers = plain_drivers(arguments.only)
    whole = try_rule(UNBROKEN, drivers, arguments.seconds)
    if whole["noticed_by"] is not None:
        sys.exit(f"{whole['noticed_by']} fails with no rule broken: {whole['said']}; its word counts for nothing")
    groups = {rule.name: rule.group for rule in overlay.read(ROOT / "stress" / "mutants")[0]}
    rules = arguments.rules or list(groups)

    def try_one(rule):
        come_by = COME_BY.get(groups.get(rule), "")
        return try_rule(rule, [driver for driver in drivers if re.search(come_by, driver[0])], arguments.seconds)

    load = round(os.getloadavg()[0], 1)
    with ThreadPoolExecutor(arguments.jobs) as crew:
        results = dict(zip(rules, crew.map(try_one, rules)))
    written = {"date": datetime.date.today().isoformat(), "seconds": arguments.seconds,
               "drivers": [name for name, _ in drivers], "cores": os.cpu_count(), "load": load, "rules": results}
    output = Path(arguments.output)
    if arguments.rules and output.exists():
        written = added(json.loads(output.read_text(encoding="utf-8")), written)
    output.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
