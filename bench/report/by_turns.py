"""Builds lido_bench of two commits and measures them alternately, so that other work on the machine affects both alike."""
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import tables

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/compare"
WORKLOADS = "^(pair|burst|churn|handoff|thread_churn|near_exhaustion)/lido/.*/manual_time$"


def refuse(why):
    """Ends with another status than 1, which means that something became slower."""
    print(f"compare: {why}", file=sys.stderr)
    sys.exit(2)


def git(commit, *arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        refuse(f"git has no sources of {commit}: {done.stderr.decode().strip()}")
    return done.stdout


def commit_of(results):
    commit = tables.read(results)["context"].get("commit", "unknown")
    if commit == "unknown" or commit.endswith("-dirty"):
        refuse(f"{results} is of commit {commit}, which cannot be built again; give NEW.json to compare with")
    return commit


def sources_of(commit):
    """Returns a folder with the sources of a commit; without a commit, the current ones."""
    if not commit:
        return ROOT
    name = git(commit, "rev-parse", "--short", "--verify", f"{commit}^{{commit}}").decode().strip()
    folder = FOLDER / name
    if not folder.exists():
        with tarfile.open(fileobj=io.BytesIO(git(commit, "archive", name))) as archive:
            archive.extractall(folder)
    return folder


def build(commit):
    """Returns the program lido_bench with Lido only."""
    sources = sources_of(commit)
    folder = FOLDER / f"build-{sources.name if commit else 'here'}"
    print(f"compare: building {commit or 'the sources as they stand'} in {folder}", flush=True)
    configure = ["cmake", "--preset", "bench", "-S", sources, "-B", folder, "-DLIDO_BUILD_EXAMPLES=OFF", "-DLIDO_BENCH_CONTENDERS=lido"]
    log = FOLDER / f"{folder.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as said:
        for command in (configure, ["cmake", "--build", folder, "--target", "lido_bench"]):
            if subprocess.run(command, cwd=sources, stdout=said, stderr=said, check=False).returncode != 0:
                refuse(f"{commit or 'the sources as they stand'} cannot be built; {log} says why")
    return folder / "bench/lido_bench"


def once(program, number, folder):
    out = folder / "once.json"
    done = subprocess.run([program, f"--benchmark_filter={WORKLOADS}", "--benchmark_min_time=0.02", f"--benchmark_out={out}",
                           "--benchmark_out_format=json"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        refuse(f"{program} ended with status {done.returncode}")
    return [{**entry, "repetition_index": number} for entry in json.loads(out.read_text(encoding="utf-8"))["benchmarks"]]


def measure(results, commit, pairs):
    """Returns two files of results: of the commit of the given results, and of the other one."""
    programs = [build(commit_of(results)), build(commit)]
    found = [[], []]
    for number in range(pairs):
        print(f"compare: pair {number + 1} of {pairs}", flush=True)
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            found[which] += once(programs[which], number, FOLDER)
    paths = [FOLDER / "old.json", FOLDER / "new.json"]
    for path, benchmarks in zip(paths, found):
        path.write_text(json.dumps({"context": {}, "benchmarks": benchmarks}), encoding="utf-8")
    return paths
