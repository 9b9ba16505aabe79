"""What report_verification.py reads and how it writes tables: runs of ctest, test by test."""
import datetime
import json
import subprocess
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
}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


class Test:
    """One test of ctest as it ran."""

    def __init__(self, case, labels):
        self.name = case.attrib["name"]
        self.seconds = float(case.attrib.get("time", 0))
        self.label = next(iter(labels), "unlabelled")
        self.output = (case.findtext("system-out") or "").strip()
        skipped = case.find("skipped") is not None
        self.result = "passed" if case.attrib["status"] == "run" else "skipped" if skipped else "failed"


def labels_of(preset):
    """Labels of each test; ctest leaves them out of its results."""
    done = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=ROOT, check=True,
                          capture_output=True, text=True)
    return {test["name"]: next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
            for test in json.loads(done.stdout)["tests"]}


class Run:
    """The tests of one preset, when they ran, and those that ctest lists and that did not."""

    def __init__(self, results, labels):
        root = xml.parse(results).getroot()
        self.date = datetime.date.fromisoformat(root.attrib["timestamp"][:10])
        self.ended = results.stat().st_mtime
        self.tests = [Test(case, labels.get(case.attrib["name"], [])) for case in root.iter("testcase")]
        self.listed = set(labels)
        missing = self.listed - {test.name for test in self.tests}
        ran = {test.label for test in self.tests}
        label = {name: next(iter(labels[name]), "unlabelled") for name in missing}
        self.left_out = Counter(label[name] for name in missing if label[name] not in ran)  # whole labels
        self.missing = sorted(name for name in missing if label[name] in ran)


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
