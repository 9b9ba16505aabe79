#!/usr/bin/env python3
"""Which tests of a configured build match, by their numbers, and what has to be built for them.

Prints two lines: the numbers of the tests for `ctest -I 0,0,0,<numbers>`, and the targets that their commands name, or
all of the library where one installs it.

usage: select_tests.py BUILD [--label REGEX] [NAME...]

A test is chosen if its label matches, or its name begins as one of the regular expressions says. Each expression must
match a test, so that a test that gets another name is not left out.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path


def commands_of(folder):
    """The arguments of each test; ctest itself does not tell those of a program that is not built yet."""
    file = folder / "CTestTestfile.cmake"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    found = {name: re.findall(r'"((?:[^"\\]|\\.)*)"', line)
             for name, line in re.findall(r"^add_test\(\[=\[(.*?)\]=\] (.*)\)$", text, re.M)}
    # Not just any file below: tests of packages make builds with tests of the same names.
    for below in re.findall(r'^subdirs\("(.*)"\)$', text, re.M):
        found |= commands_of(folder / below)
    return found


def labels_of(test):
    return next((each["value"] for each in test.get("properties", []) if each["name"] == "LABELS"), [])


def fixtures_of(test, kind):
    return set(next((each["value"] for each in test.get("properties", []) if each["name"] == f"FIXTURES_{kind}"), []))


def chosen_tests(tests, label, names):
    """Numbers and names; with what sets up a fixture of a chosen one, which ctest adds by itself."""
    for name in names:
        if not any(re.match(name, test["name"]) for test in tests):
            sys.exit(f"no test is called {name}")
    matches = [test for test in tests if any(re.match(name, test["name"]) for name in names) or
               (label and any(re.fullmatch(label, each) for each in labels_of(test)))]
    needed = set().union(*(fixtures_of(test, "REQUIRED") for test in matches))
    return [(number, test["name"]) for number, test in enumerate(tests, start=1)
            if test in matches or fixtures_of(test, "SETUP") & needed]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--label", default="")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    build = arguments.build.resolve()
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                                       capture_output=True, text=True).stdout)["tests"]
    chosen = chosen_tests(listed, arguments.label, arguments.names)
    if not chosen:
        sys.exit(f"no test of {build} matches")
    known = {line.rsplit(":", 1)[0] for line in
             subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True,
                            text=True).stdout.splitlines()}
    commands = commands_of(build)
    words = {os.path.normpath(word.partition("=")[2] or word) for _, name in chosen for word in commands[name]}
    targets = {os.path.relpath(word, build) for word in words if word.startswith(f"{build}{os.sep}")} & known
    if "--install" in words:
        targets.add("src/all")
    print(",".join(str(number) for number, _ in chosen))
    print(" ".join(sorted(targets)))


if __name__ == "__main__":
    main()
