#!/usr/bin/env python3
"""Says in at most ten lines what failed when scripts/test.sh ran a preset, how to run it alone, and where its output is.

usage: report_failures.py PRESET
"""
import re
import shlex
import sys
import xml.etree.ElementTree as xml

from report_runs import ROOT, listed_tests, tests_of

MOST_COMMANDS = 8


def has_failed(case):
    """Returns true also for a test that could not start, but not for one that skipped itself."""
    skipped = case.find("skipped")
    return case.attrib["status"] == "fail" or (skipped is not None and not skipped.attrib["message"].startswith("SKIP_"))


def failed_cases(case, cases):
    """Names the GoogleTest cases that failed; if the program crashed, also the one that it was running."""
    if cases.exists():
        return [test.name for test in tests_of(case, "", cases) if test.result == "failed"]
    lines = re.findall(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w/]+\.[\w/]+)", case.findtext("system-out") or "", re.M)
    return [name for name, state in {name: state for state, name in lines}.items() if state in ("RUN", "FAILED")]


def program_of(test, case):
    """The command of a test for one of its cases."""
    environment = next((each["value"] for each in test["properties"] if each["name"] == "ENVIRONMENT"), [])
    words = [word.removeprefix(f"{ROOT}/") for word in test["command"] if not word.startswith("--gtest_")]
    return shlex.join([*(["env"] if environment else []), *environment, *words, f"--gtest_filter={case}"])


def test_lines(preset, folder):
    """A heading, and commands for the first tests that failed; nothing if none did."""
    results = folder / "junit.xml"
    ran = xml.parse(results).getroot().iter("testcase") if results.exists() else []
    failed = [case for case in ran if has_failed(case)]
    if not failed:
        return
    listed = {test["name"]: test for test in listed_tests(preset)}
    commands = []  # each with the number of failed tests that it stands for
    for case in failed:
        name = case.attrib["name"]
        cases = failed_cases(case, folder / "gtest" / f"{name}.xml")
        commands.append((0 if cases else 1, f"  ctest --preset {preset} -R '^{re.escape(name)}$'"))
        commands += [(1, f"    {program_of(listed[name], each)}") for each in cases]
    count = sum(number for number, _ in commands)
    more = sum(number for number, _ in commands[MOST_COMMANDS:])
    yield f"FAILED: {count} {'test' if count == 1 else 'tests'} of {preset}; the output is in build/{preset}/test.log. To run each alone:"
    yield from (command for _, command in commands[:MOST_COMMANDS])
    if more:
        yield f"  and {more} more"


def build_lines(preset, folder):
    log = folder / "build.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    failed = re.findall(r"^FAILED: (?:\[code=\d+\] )?(\S+)", text, re.M)
    if failed:
        yield f"FAILED: the build of {preset}; the output is in build/{preset}/build.log. To run a step alone:"
        yield from (f"  cmake --build --preset {preset} --target {each}" for each in failed[:MOST_COMMANDS])
        if len(failed) > MOST_COMMANDS:
            yield f"  and {len(failed) - MOST_COMMANDS} more"


def failure_lines(preset, folder):
    return [*test_lines(preset, folder)] or [*build_lines(preset, folder)] or [
        f"FAILED: {preset} did not come to its end; the output is above the table, and in build/{preset}/*.log."]


if __name__ == "__main__":
    print("\n".join(failure_lines(sys.argv[1], ROOT / "build" / sys.argv[1])))
