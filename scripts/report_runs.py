#!/usr/bin/env python3
"""What report_verification.py reads and how it writes tables: runs of ctest, test by test.

usage: report_runs.py PRESET     prints how many tests of that preset ran
"""
import datetime
import json
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRESETS = {
    "gcc": "GCC",
    "clang": "Clang",
    "tsan": "Clang, ThreadSanitizer",
    "asan": "Clang, AddressSanitizer and UndefinedBehaviorSanitizer",
    "arm64": "GCC for arm64, emulated",
    "s390x": "GCC for s390x, emulated",
    "armhf": "GCC for 32-bit arm, emulated",
    "i386": "GCC for i386",
    "riscv64": "GCC for riscv64, emulated",
    "ppc64le": "GCC for ppc64le, emulated",
    "gcc-11": "GCC 11",
    "clang-22": "Clang 22",
    "wasm": "Emscripten",
    "mingw": "GCC for Windows, under Wine",
}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


class Test:
    """One test of ctest, or one case of a program with GoogleTest, as it ran."""

    def __init__(self, name, label, result, seconds, output=""):
        self.name = name
        self.label = label
        self.result = result
        self.seconds = float(seconds)
        self.output = output


def tests_of(case, label, cases):
    """The test itself, or the cases that GoogleTest has written down; a program that ended early has not."""
    if cases.exists():
        for one in xml.parse(cases).getroot().iter("testcase"):
            skipped = one.attrib.get("result") == "skipped" or one.attrib["status"] == "notrun"
            result = "failed" if one.find("failure") is not None else "skipped" if skipped else "passed"
            yield Test(f"{one.attrib['classname']}.{one.attrib['name']}", label, result, one.attrib.get("time", 0))
        return
    skipped = case.find("skipped") is not None
    result = "passed" if case.attrib["status"] == "run" else "skipped" if skipped else "failed"
    yield Test(case.attrib["name"], label, result, case.attrib.get("time", 0), (case.findtext("system-out") or "").strip())


def listed_tests(preset):
    done = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=ROOT, check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["tests"]


def labels_of(preset):
    """Labels of each test; ctest leaves them out of its results."""
    return {test["name"]: next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
            for test in listed_tests(preset)}


class Run:
    """The tests of one preset, when they ran, and those that ctest lists and that did not."""

    def __init__(self, results, labels):
        root = xml.parse(results).getroot()
        self.date = datetime.date.fromisoformat(root.attrib["timestamp"][:10])
        self.ended = results.stat().st_mtime
        ran = {case.attrib["name"]: case for case in root.iter("testcase")}
        label = {name: next(iter(labels.get(name, [])), "unlabelled") for name in labels.keys() | ran.keys()}
        self.tests = [test for name, case in ran.items()
                      for test in tests_of(case, label[name], results.parent / "gtest" / f"{name}.xml")]
        missing = labels.keys() - ran.keys()
        self.listed = {test.name for test in self.tests} | missing
        seen = {test.label for test in self.tests}
        self.left_out = Counter(label[name] for name in missing if label[name] not in seen)  # whole labels
        self.missing = sorted(name for name in missing if label[name] in seen)


def read_preset(preset):
    results = ROOT / "build" / preset / "junit.xml"
    return Run(results, labels_of(preset)) if results.exists() else None


def table(header, rows, align=None):
    align = align or ["---"] + ["--:"] * (len(header) - 1)
    yield "| " + " | ".join(header) + " |"
    yield "|" + "|".join(align) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"
    yield ""


if __name__ == "__main__":
    print(sum(test.result != "skipped" for test in read_preset(sys.argv[1]).tests))
