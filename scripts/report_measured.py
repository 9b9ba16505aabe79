"""What coverage.sh, measure_checked.py, measure_sharing.py and slips.py of scripts/ have found, for scripts/report_verification.py."""
import datetime
import json

from report_runs import ROOT, git, table

LAYERS = ["freelist", "allocator", "concurrency", "object"]


def layer_branches(layer):
    """Taken branches and all of them, and when they were counted; nothing if they were not."""
    path = ROOT / "build" / "coverage" / f"{layer}.json"
    if not path.exists():
        return None
    branches = [branch for file in json.loads(path.read_text(encoding="utf-8"))["files"]
                for line in file["lines"] for branch in line.get("branches", [])]
    return sum(branch["count"] > 0 for branch in branches), len(branches), path.stat().st_mtime


def judged(value, is_met):
    return f"{value:.1f}" if is_met else f"**{value:.1f}**"


def coverage_row():
    shares = [(layer, layer_branches(layer)) for layer in LAYERS]
    said = ", ".join(f"{layer} {judged(100 * found[0] / found[1], found[0] >= 0.95 * found[1])} %" if found
                     else f"{layer} not measured" for layer, found in shares)
    return ["branches taken by the tests", said, "`scripts/coverage.sh`, asked 95 %"]


def slips_row():
    """How many of the faults that programmers make the unit tests noticed, when all were tried."""
    path = ROOT / "build" / "slips.json"
    if not path.exists():
        return ["slips noticed", "not tried", "`scripts/slips.py`"]
    found = json.loads(path.read_text(encoding="utf-8"))
    noticed = sum(bool(test) for test in found.values())
    return ["slips noticed", f"{noticed} of {len(found)}", "unit tests, `scripts/slips.py`"]


def checked_row():
    """What a checked pool takes beside one without checks, of the last run of the bench that had both."""
    path = ROOT / "build" / "checked_cost.json"
    if not path.exists():
        return ["time of a pair, checked : not", "not measured", "`scripts/measure_checked.py`"]
    found = json.loads(path.read_text(encoding="utf-8"))
    said = ", ".join(f"{row['bytes']} bytes, {row['threads']} threads {judged(row['ratio'], row['ratio'] <= 9)}" for row in found["rows"])
    return ["time of a pair, checked : not", said,
            f"`scripts/measure_checked.py`, {found['date']}, load {found['load']:g} before it; asked 9"]


def sharing_row():
    """What pools do that more threads share than there are resources, beside a mutex and a deque."""
    path = ROOT / "build" / "sharing.json"
    if not path.exists():
        return ["more threads than resources, uses : mutex", "not measured", "`scripts/measure_sharing.py`"]
    found = json.loads(path.read_text(encoding="utf-8"))
    said = ", ".join(f"{row['row']} {judged(row['uses'], row['uses'] >= row['asked_uses'])}" for row in found["rows"])
    return ["more threads than resources, uses : mutex", said,
            f"`scripts/measure_sharing.py`, {found['date']}, load {found['load']:g} before it"]


def coverage_section():
    yield "## Branch coverage"
    yield ""
    rows = []
    committed = int(git("show", "--no-patch", "--format=%ct", "HEAD"))
    for layer in LAYERS:
        found = layer_branches(layer)
        if found is None:
            rows.append([layer, "", "not measured", "", ""])
            continue
        taken, branches, counted = found
        old = ", before this commit" if counted < committed else ""
        rows.append([layer, f"{datetime.date.fromtimestamp(counted)}{old}", taken, branches,
                     f"{100 * taken / branches:.1f} %"])
    yield from table(["layer", "counted", "taken", "branches", "share"], rows)
    yield "`scripts/coverage.sh` counts them; `scripts/test.sh` does not run it."
    yield ("Left out, and nothing else: the ways of exceptions, since every call that may throw has one whatever the "
           "source says. The instances of a template count as one.")
    yield ""
