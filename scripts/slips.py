#!/usr/bin/env python3
"""Puts one slip after another into a copy of the tree, and says which unit test notices it.

A slip is a fault in one place, of the kind that programmers make. stress/mutants/slips/slips.toml lists them, by the
part of the library. The test that noticed it before is tried first, then those of the part until one fails. A test that
does not end counts as one that fails. Exit status 1 if a slip survives, or does not compile.

usage: slips.py [--few] [--seconds N] [--folder FOLDER] [--json FILE] [REGEX]    only slips whose name matches
"""
import argparse
import fnmatch
import functools
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "stress" / "mutants" / "slips" / "slips.toml"
# The tests that look at a part, those that take least first.
TESTS = {
    "blocks": ["unit.pmr", "unit.options", "unit.failing_allocation", "unit.telemetry"],
    "checked pools": ["unit.pmr", "death.debug_death", "unit.debug", "unit.object_checked", "death.object_death"],
    "leases": ["unit.kernel", "unit.keyed", "unit.server_cases", "unit.standalone_asio", "unit.resource"],
    "metrics and registries": ["unit.telemetry", "unit.registry", "unit.debug"],
    "options of object pools": ["unit.options", "unit.pmr", "unit.growing", "unit.object"],
    "options of resource pools": ["unit.kernel", "unit.options", "unit.keyed", "unit.server_cases", "unit.resource"],
    "PostgreSQL": ["server.libpq", "server.pgbouncer"],
    "Redis": ["server.hiredis"],
    "resource pools": ["unit.kernel", "unit.keyed", "unit.testing", "unit.server_cases", "unit.standalone_asio",
                       "unit.resource"],
    "slot maps": ["unit.slot_map"],
    "statistics of object pools": ["unit.telemetry", "unit.pmr", "unit.failing_allocation", "unit.trace", "unit.growing",
                                   "unit.object", "unit.allocator"],
    "statistics of resource pools": ["unit.kernel", "unit.keyed", "unit.server_cases", "unit.resource"],
    "TCP": ["server.tcp", "server.hiredis"],
    "traces": ["unit.trace"],
}


def copy_tree(folder):
    """Makes the copy like the tree; files that are alike stay, so that what was built of them stays, too."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            write(folder / name, (ROOT / name).read_bytes())
            (folder / name).chmod((ROOT / name).stat().st_mode)


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_bytes() != content:
        file.write_bytes(content)


def run(command, folder):
    return subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env={**os.environ, "GTEST_FAIL_FAST": "1"})


def configure(folder):
    made = run(["cmake", "--preset", "gcc", "-Wno-dev", "-DLIDO_QUICK_LIBRARY=ON", "-DLIDO_BUILD_STRESS=OFF",
                "-DLIDO_BUILD_EXAMPLES=OFF", "-DLIDO_BUILD_BENCH=OFF", "-DLIDO_INSTALL=OFF"], folder)
    if made.returncode != 0:
        sys.exit(made.stdout)


@functools.cache
def selection(build, test):
    """The numbers of a test of ctest, and the targets to build for it."""
    chosen = run([ROOT / "scripts" / "select_tests.py", build, re.escape(test) + "$"], build)
    numbers, targets = chosen.stdout.splitlines() if chosen.returncode == 0 else sys.exit(chosen.stdout)
    return numbers, targets.split()


def build_of(folder, test):
    """What the compiler says; empty when it is content."""
    build = folder / "build" / "gcc"
    built = run(["cmake", "--build", build, "--target", *selection(build, test)[1]], folder)
    return built.stdout if built.returncode != 0 else ""


def failure_in(output):
    case = re.search(r"^\[  FAILED  \] ([\w./]+)", output, re.M)
    return case[1] if case else "(no end, or a signal)"


def noticed_by_case(folder, test, case, seconds):
    """A case of a test, if it fails."""
    program = folder / "build" / "gcc" / selection(folder / "build" / "gcc", test)[1][-1]
    ended = run(["timeout", str(seconds), program, f"--gtest_filter={case}"], program.parent)
    return f"{test} {failure_in(ended.stdout)}" if ended.returncode != 0 else ""


def noticed_by(folder, tests, seconds):
    """The first of the tests that fails, "" for none; or what the compiler says."""
    build = folder / "build" / "gcc"
    for test in tests:
        if said := build_of(folder, test):
            return "", said
        ended = run(["ctest", "--test-dir", build, "-I", f"0,0,0,{selection(build, test)[0]}", "--timeout", str(seconds),
                     "--output-on-failure"], folder)
        if ended.returncode != 0:
            return f"{test} {failure_in(ended.stdout)}", ""
    return "", ""


def try_slip(slip, folder, seconds):
    """What notices it, "" for nothing; or why it cannot be tried."""
    file = folder / slip["file"]
    whole = file.read_text(encoding="utf-8")
    if whole.count(slip["find"]) != 1:
        return "", f"{slip['file']}: the text to find is there {whole.count(slip['find'])} times"
    file.write_text(whole.replace(slip["find"], slip["replace"]), encoding="utf-8")
    try:
        test, _, case = slip["first"].partition(" ")
        if said := build_of(folder, test):
            return "", said
        first = noticed_by_case(folder, test, case, seconds)
        return (first, "") if first else noticed_by(folder, TESTS[slip["part"]], seconds)
    finally:
        file.write_text(whole, encoding="utf-8")


def without_a_slip(slips, folder, seconds):
    """Names of slips whose first case this system cannot run. The others pass, or this is the end."""
    skipped = []
    for test in sorted({slip["first"].partition(" ")[0] for slip in slips.values()}):
        cases = {name: slip["first"].partition(" ")[2] for name, slip in slips.items() if slip["first"].startswith(test + " ")}
        if said := build_of(folder, test):
            sys.exit(f"without a slip: {said}")
        program = folder / "build" / "gcc" / selection(folder / "build" / "gcc", test)[1][-1]
        ended = run(["timeout", str(seconds), program, f"--gtest_filter={':'.join(cases.values())}"], program.parent)
        if ended.returncode != 0:
            sys.exit(f"without a slip: {test} {failure_in(ended.stdout)}")
        for name, case in cases.items():
            if not any(fnmatch.fnmatchcase(ran, case) for ran in re.findall(r"^\[ RUN      \] (\S+)", ended.stdout, re.M)):
                sys.exit(f"{name}: {test} has no case {case}")
        skipped += [name for name, case in cases.items() if f"[  SKIPPED ] {case} (" in ended.stdout]
    return skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", action="store_true", help="only those that are marked with few")
    parser.add_argument("--seconds", type=int, default=120, help="for a test; one that takes longer has noticed the slip")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "slips", help="of the copy, and of what is built")
    parser.add_argument("--json", type=Path, help="writes what noticed which slip there; of all of them to build/slips.json")
    parser.add_argument("names", nargs="?", default="", metavar="REGEX")
    options = parser.parse_args()
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    slips = {name: slip for name, slip in listed.items()
             if re.search(options.names, name) and (slip.get("few") or not options.few)}
    output = options.json or (ROOT / "build" / "slips.json" if len(slips) == len(listed) else None)
    folder = options.folder.resolve()
    copy_tree(folder)
    configure(folder)
    for name in without_a_slip(slips, folder, options.seconds):
        print(f"{name:<34}          left out: this system skips {slips.pop(name)['first']}", flush=True)
    found, failed = {}, 0
    for name, slip in sorted(slips.items(), key=lambda each: each[1]["file"]):
        start = time.monotonic()
        found[name], why = try_slip(slip, folder, options.seconds)
        failed += not found[name]
        print(f"{name:<34} {time.monotonic() - start:6.0f} s  {found[name] or why or 'SURVIVES: ' + slip['reason']}", flush=True)
        if output:
            output.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"{len(found)} slips, {len(found) - failed} noticed")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
