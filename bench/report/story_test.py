"""The curves of docs/explanation/burst-and-failover.md and frame.md are those of their data, and a new run has the same course.

usage: story_test.py LIDO_BENCH_STORY LIDO_BENCH_FRAME_STORY
"""
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "docs/explanation/story.json"
FRAMES = ROOT / "docs/explanation/frames.json"


def faults(runs):
    """Returns where a run contradicts the page."""
    of = {(run["scene"], run["pool"]): run for run in runs}
    for scene in ("burst", "failover"):
        by_hand, lido = of[scene, "by hand"], of[scene, "lido"]
        if max(lido["open"]) > 20 or max(by_hand["open"]) > 20:
            yield f"{scene}: more than 20 connections"
        if 2 * sum(lido["connects"]) > sum(by_hand["connects"]):
            yield f"{scene}: Lido made {sum(lido['connects'])} connects, the other pool {sum(by_hand['connects'])}"
    if sum(of["burst", "lido"]["served"]) != 50:
        yield "burst: a request was lost"
    down = range(22, 60)  # steps of 50 ms
    failover = of["failover", "lido"]
    if any(failover["served"][step] for step in down) or not all(failover["served"][-10:]):
        yield "failover: Lido served while the server was down, or not afterwards"


def faults_of_frames(data, optimized):
    """Returns where a run of the frames contradicts the page. Tests build the benches without optimization: their times say nothing."""
    median = {run["jobs"]: statistics.median(run["us"][20:]) for run in data["runs"]}
    if optimized and not median["lido"] < min(median["a pool with a mutex"], median["new and delete"]):
        yield f"frames: medians {median}"
    if len(median) != 3 or any(len(run["us"]) != 400 or min(run["us"]) <= 0 for run in data["runs"]):
        yield "frames: not all were measured"


def main():
    run = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    found = [*faults(run), *(f"{STORY.name}: {each}" for each in faults(json.loads(STORY.read_text(encoding="utf-8"))))]
    frames = json.loads(subprocess.run([sys.argv[2]], check=True, capture_output=True, text=True).stdout)
    found += [*faults_of_frames(frames, optimized=False), *(f"{FRAMES.name}: {each}" for each in faults_of_frames(json.loads(FRAMES.read_text(encoding="utf-8")), optimized=True))]
    seeded = json.loads(STORY.read_text(encoding="utf-8"))
    seeded[3]["connects"] = seeded[2]["connects"]
    slow = json.loads(FRAMES.read_text(encoding="utf-8"))
    slow["runs"][-1]["us"] = [1000 * us for us in slow["runs"][-1]["us"]]
    if not list(faults_of_frames(slow, optimized=True)):
        found.append("frames in which Lido is slower than the others were accepted")
    if not list(faults(seeded)):
        found.append("a run in which Lido connects as often as the other pool was accepted")
    print("\n".join(found), end="")
    if found:
        sys.exit(1)
    modules = ROOT / "build/echarts/node_modules"
    if not modules.exists():
        sys.exit(77)
    sys.exit(subprocess.run(["node", ROOT / "bench/report/story.cjs", STORY, FRAMES, ROOT / "docs/images", "--check"], check=False,
                            env={**os.environ, "NODE_PATH": str(modules)}).returncode)


if __name__ == "__main__":
    main()
