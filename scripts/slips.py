#!/usr/bin/env python3
"""Puts one slip after another into a copy of the tree, and says which unit test notices it.

A slip is a fault in one place, of the kind that programmers make. stress/mutants/slips/slips.toml lists them, by the
part of the library. The tests of that part are built and run until one fails. A test that does not end counts as one
that fails. Exit status 1 if a slip survives, or does not compile.

usage: slips.py [--few] [--seconds N] [--folder FOLDER] [--json FILE] [REGEX]    only slips whose name matches
"""
import argparse
import json
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
    "blocks": ["unit.pmr", "unit.failing_allocation", "unit.telemetry"],
    "checked pools": ["unit.object_checked", "death.object_death", "unit.debug", "death.debug_death", "unit.pmr"],
    "connections": ["server.tcp", "unit.server_cases", "server.hiredis", "server.libpq", "server.pgbouncer"],
    "leases": ["unit.object", "unit.testing", "unit.resource", "unit.keyed"],
    "metrics and registries": ["unit.telemetry", "unit.registry", "unit.debug"],
    "options of object pools": ["unit.object", "unit.growing", "unit.options", "unit.pmr"],
    "options of resource pools": ["unit.kernel", "unit.options", "unit.keyed", "unit.resource"],
    "resource pools": ["unit.kernel", "unit.keyed", "unit.testing", "unit.resource"],
    "slot maps": ["unit.slot_map"],
    "statistics": ["unit.telemetry", "unit.registry", "unit.object", "unit.growing", "unit.pmr", "unit.kernel", "unit.keyed",
                   "unit.resource"],
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
                          errors="replace")


def configure(folder):
    made = run(["cmake", "--preset", "gcc", "-Wno-dev", "-DLIDO_BUILD_STRESS=OFF", "-DLIDO_BUILD_EXAMPLES=OFF",
                "-DLIDO_BUILD_BENCH=OFF"], folder)
    if made.returncode != 0:
        sys.exit(made.stdout)


def noticed_by(folder, tests, seconds):
    """The first of the tests that fails, "" for none; or what the compiler says."""
    build = folder / "build" / "gcc"
    for test in tests:
        chosen = run([ROOT / "scripts" / "select_tests.py", build, re.escape(test) + "$"], folder).stdout.splitlines()
        built = run(["cmake", "--build", build, "--target", *chosen[1].split()], folder)
        if built.returncode != 0:
            return "", built.stdout
        ended = run(["ctest", "--test-dir", build, "-I", f"0,0,0,{chosen[0]}", "--timeout", str(seconds),
                     "--output-on-failure"], folder)
        if ended.returncode != 0:
            case = re.search(r"^\[  FAILED  \] ([\w./]+)", ended.stdout, re.M)
            return f"{test} {case[1] if case else '(no end, or a signal)'}", ""
    return "", ""


def try_slip(slip, folder, seconds):
    """What notices it, "" for nothing; or why it cannot be tried."""
    file = folder / slip["file"]
    whole = file.read_text(encoding="utf-8")
    if whole.count(slip["find"]) != 1:
        return "", f"{slip['file']}: the text to find is there {whole.count(slip['find'])} times"
    file.write_text(whole.replace(slip["find"], slip["replace"]), encoding="utf-8")
    try:
        return noticed_by(folder, TESTS[slip["part"]], seconds)
    finally:
        file.write_text(whole, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", action="store_true", help="only those that are marked with few")
    parser.add_argument("--seconds", type=int, default=120, help="for a test; one that takes longer has noticed the slip")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "slips", help="of the copy, and of what is built")
    parser.add_argument("--json", type=Path, help="writes what noticed which slip there")
    parser.add_argument("names", nargs="?", default="", metavar="REGEX")
    options = parser.parse_args()
    slips = {name: slip for name, slip in tomllib.loads(LIST.read_text(encoding="utf-8")).items()
             if re.search(options.names, name) and (slip.get("few") or not options.few)}
    folder = options.folder.resolve()
    copy_tree(folder)
    configure(folder)
    tests = [test for part in TESTS if any(slip["part"] == part for slip in slips.values()) for test in TESTS[part]]
    fails, why = noticed_by(folder, dict.fromkeys(tests), options.seconds)
    if fails or why:
        sys.exit(f"without a slip: {fails}{why}")
    found, failed = {}, 0
    for name, slip in sorted(slips.items(), key=lambda each: each[1]["file"]):
        start = time.monotonic()
        found[name], why = try_slip(slip, folder, options.seconds)
        failed += not found[name]
        print(f"{name:<34} {time.monotonic() - start:6.0f} s  {found[name] or why or 'SURVIVES: ' + slip['reason']}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"{len(found)} slips, {len(found) - failed} noticed")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
