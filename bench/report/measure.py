#!/usr/bin/env python3
"""Measures what the contention report shows: runs the bench programs of a build and writes one results.json.

The file has the form of Google Benchmark, context and benchmarks, and also the output of other programs: levels, pools,
counts, builds and flames. While it runs it prints what comes next and how much time is left.
"""
import argparse
import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import other_pools

WORKLOADS = ["pair", "burst", "churn", "handoff", "thread_churn", "near_exhaustion", "moving"]
FLAME = "^(handoff|near_exhaustion)/lido/threads:2/manual_time$"
MOST_SECONDS = 1200  # for one run; a peer that spins crawls on a machine that is busy with other things
PROBE = """#include "{header}"
#include <cstdio>
#include "contender.hpp"
namespace lido_bench {{
using probed = {name}<64>;
}}
using pool = lido_bench::probed;
[[gnu::noinline]] static void* probe_acquire(pool::session& session) {{ return session.acquire(); }}
[[gnu::noinline]] static void probe_release(pool::session& session, void* object) {{ session.release(object); }}
int main() {{
  pool one{{lido_bench::sizing{{64, 1}}}};
  pool::session session{{one}};
  void* const object = probe_acquire(session);
  probe_release(session, object);
  std::printf("%p", object);
}}
"""


class Progress:
    """Prints before each step how long the rest takes: the expected time, at the pace so far."""

    def __init__(self, steps):
        self._left, self._done, self._began = dict(steps), 0, time.monotonic()
        self._count = len(self._left)

    def step(self, name):
        passed = time.monotonic() - self._began
        left = sum(self._left.values()) * (passed / self._done if self._done and passed > 5 else 1)
        number = self._count - len(self._left) + 1
        print(f"bench: {number:2} of {self._count}, {name}; about {left:.0f} s left", flush=True)
        self._done += self._left.pop(name)

    def end(self):
        print(f"bench: measured in {time.monotonic() - self._began:.0f} s", flush=True)


class Bench:
    """The programs of one build, and the length of each repetition."""

    def __init__(self, options):
        self.folder = Path(options.build) / "bench"
        self.options = options
        self.contexts = []

    def google(self, program, pattern, repetitions=None, min_time=None):
        """Returns all repetitions of a program that uses Google Benchmark."""
        options = self.options
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            command = [self.folder / program, *(self.own_options() if program == "lido_bench" else []),
                       f"--benchmark_filter={pattern}", f"--benchmark_min_time={min_time or options.min_time}",
                       f"--benchmark_repetitions={repetitions or options.repetitions}",
                       "--benchmark_enable_random_interleaving=true",
                       f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
            if done.returncode != 0:
                sys.exit(f"bench: {program} {pattern} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            data = json.loads(Path(out.name).read_text(encoding="utf-8"))
        self.contexts.append(data["context"])
        return [entry for entry in data["benchmarks"] if entry["run_type"] == "iteration"]

    def own_options(self):
        """Returns lido_bench's own options beside Google Benchmark's."""
        return [*([f"--threads={self.options.threads}"] if self.options.threads else []), *(["--pin"] if self.options.pin else [])]

    def connections(self):
        """Returns the output of the benches of connection pools for each repetition; empty if they were not built."""
        programs = [self.folder / name for name in ("lido_bench_resource", "lido_bench_keyed")]
        for _ in range(self.options.repetitions if all(program.exists() for program in programs) else 0):
            lines = []
            for program in programs:
                done = subprocess.run([program, "--short"], capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
                if done.returncode != 0:
                    sys.exit(f"bench: {program} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
                lines += other_pools.lines_of(done.stdout)
            yield lines

    def names(self, pattern):
        return subprocess.run([self.folder / "lido_bench", *self.own_options(), "--benchmark_list_tests=true", f"--benchmark_filter={pattern}"],
                              capture_output=True, text=True, check=True).stdout.split()

    def counts(self):
        """Returns the output of lido_bench_rmw: workload, threads, shared read-modify-writes per operation."""
        done = subprocess.run([self.folder / "lido_bench_rmw"], capture_output=True, text=True, timeout=MOST_SECONDS,
                              check=False)
        rows = re.findall(r"^(\w+) +(\d+) +([0-9.]+) ", done.stdout, re.M)
        return [{"workload": row[0], "threads": int(row[1]), "per_operation": float(row[2])} for row in rows]


OPERATOR = re.compile(r"\boperator *(?:\(\)|\[\]|<=>|->\*?|<<=?|>>=?|[<>]=?|(?:new|delete)\b(?:\[\])?|\"\" *\w+|[^\s\w(<>]+|[\w:]+(?=[ *&]*\())")
ROUND_BRACKETS, ANGLES = re.compile(r"\([^()]*\)"), re.compile(r"<[^<>]*>")


def simpler(symbol):
    """Returns a name without template arguments and parameters; operators and lambdas keep theirs."""
    symbol = symbol.split(" [clone")[0].replace("(anonymous namespace)::", "")
    symbol = re.sub(r"\{lambda\(.*?\)#\d+\}(?:::operator\(\))?(?: const)?|\{?'?lambda\d*'?(?:\([^()]*\))?\}?::operator\(\)", "{lambda}", symbol)
    operators = []

    def keep(match):
        operators.append(match[0])
        return f"\0{len(operators) - 1}\1"

    symbol = OPERATOR.sub(keep, symbol)
    for brackets in (ROUND_BRACKETS, ANGLES):  # round ones may contain comparisons
        while (shorter := brackets.sub("", symbol)) != symbol:
            symbol = shorter
    symbol = re.sub(r"( (const|volatile|noexcept|&&?))+$", "", symbol.strip())
    symbol = re.sub(r"::(?:::)+", "::", symbol.split(" ")[-1]).strip(":") or "?"
    return re.sub("\0(\\d+)\1", lambda match: operators[int(match[1])], symbol)


def tree_of(script):
    """Returns stacks of `perf script`, innermost frame first, as a tree of samples."""
    root = {"name": "all", "value": 0, "children": {}}
    for sample in script.split("\n\n"):
        frames = re.findall(r"^\s+[0-9a-f]+ (.+)$", sample, re.M)
        node = root
        node["value"] += 1 if frames else 0
        for frame in reversed(frames):
            name = simpler(frame)
            if name in ("?", "unknown", "[unknown]", "clone3", "start_thread"):
                continue
            node = node["children"].setdefault(name, {"name": name, "value": 0, "children": {}})
            node["value"] += 1
    return listed(root)


def listed(node):
    children = sorted(node["children"].values(), key=lambda child: -child["value"])
    return {**node, "children": [listed(child) for child in children]}


def flames(bench, min_time):
    """Returns a flame graph of Lido's slow path, or why there is none."""
    if not shutil.which("perf"):
        return {"missing": "perf is not installed (linux-perf)."}
    with tempfile.NamedTemporaryFile(suffix=".perf") as data:
        program = [bench.folder / "lido_bench", "--threads=2", f"--benchmark_filter={FLAME}", f"--benchmark_min_time={min_time}"]
        record = subprocess.run(["perf", "record", "-q", "-F", "499", "-e", "cpu-clock:u", "--call-graph", "dwarf,4096",
                                 "-o", data.name, "--", *program], capture_output=True, text=True, check=False,
                                timeout=MOST_SECONDS)
        script = subprocess.run(["perf", "script", "-i", data.name, "-F", "ip,sym", "--no-inline"], capture_output=True,
                                text=True, check=False, timeout=MOST_SECONDS)
    tree = tree_of(script.stdout)
    if record.returncode != 0 or tree["value"] == 0:
        return {"missing": "perf may not sample on this machine: " + (record.stderr.strip().split("\n")[-1] or "no samples")}
    return {"tree": tree}


def sections(executable):
    """Returns the bytes of code and of data in a program or object file."""
    text, data = subprocess.run(["size", executable], capture_output=True, text=True, check=True).stdout.split("\n")[1].split()[:2]
    return int(text) + int(data)


def builds(bench, names):
    """Returns seconds to compile a file that uses a contender, and its size; built as the bench itself was."""
    commands = json.loads((Path(bench.options.build) / "compile_commands.json").read_text(encoding="utf-8"))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        subprocess.run(["c++", "-O2", "-x", "c++", "-", "-o", empty], text=True, check=True,
                       input="#include <cstdio>\nint main() { std::printf(\"%p\", nullptr); }")
        for command in commands:
            match = re.search(r"/register_(\w+)\.cpp$", command["file"])
            if not match or match[1] == "all":
                continue
            text = Path(command["file"]).read_text(encoding="utf-8")
            header = re.search(r'#include "(.*)"', text)[1]
            name = re.search(r"CMakeFiles/bench_(\w+)\.dir", command["command"])[1]
            if names and name not in names:
                continue
            rows.append({"contender": name, **build(bench, command, header, Path(folder) / name, sections(empty))})
    return rows


def child_seconds():
    """Returns the processor time of child processes so far, which excludes other work on the machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def build(bench, command, header, place, empty):
    source = place.with_suffix(".cpp")
    source.write_text(PROBE.format(header=header, name=Path(header).stem), encoding="utf-8")
    words = shlex.split(command["command"])
    start = next(i for i, word in enumerate(words) if re.search(r"(\+\+|cc|clang)(-\d+)?$", word) and "ccache" not in word)
    compile_words = words[start:words.index("-o")] + ["-w", "-o", str(place) + ".o", "-c", str(source)]
    began = child_seconds()
    if subprocess.run(compile_words, cwd=command["directory"], capture_output=True, check=False).returncode != 0:
        return {}
    row = {"seconds": child_seconds() - began, "object_bytes": sections(str(place) + ".o")}
    # A contender that links only Lido's library is measured as a program, too.
    linked = subprocess.run([words[start], "-O2", "-Wl,--gc-sections", str(place) + ".o",
                             str(Path(bench.options.build) / "src" / "liblido.a"), "-o", place, "-pthread"],
                            capture_output=True, check=False)
    if linked.returncode == 0:
        row["linked_bytes"] = max(0, sections(place) - empty)
    return row


def measure(options):
    """Returns every step in order, with the seconds that a quick run takes for it."""
    bench = Bench(options)
    names = options.contenders.split(",") if options.contenders else []
    of = f"({'|'.join(names)})/" if names else "[^/]+/"
    share = options.share
    steps = {**{workload: 4 * share for workload in WORKLOADS}, "latency": 8 * share, "locked instructions": 1.6 * (len(names) or 36), "memory": 4,
             "pools": 3, "statistics": 2, "connection pools": 8 * options.repetitions, "slot maps": 20 * options.repetitions,
             "shared operations": 4, "compile time": 1.8 * (len(names) or 36), "flame graph": 6}
    progress = Progress(steps)
    data = {"benchmarks": []}
    for workload in WORKLOADS:
        progress.step(workload)
        data["benchmarks"] += bench.google("lido_bench", f"^{workload}/{of}.*/manual_time$")
    progress.step("latency")
    data["benchmarks"] += bench.google("lido_bench", f"^latency/{of}")
    progress.step("locked instructions")
    data["benchmarks"] += bench.google("lido_bench", f"^locked/{of}", repetitions=1)
    progress.step("memory")
    for name in bench.names(f"^memory/{of}"):  # in separate processes, so that no contender finds memory of another
        data["benchmarks"] += bench.google("lido_bench", f"^{name}$", repetitions=1)
    progress.step("pools")
    data["pools"] = bench.google("lido_bench_footprint", ".", min_time=min(options.min_time, 0.05))
    progress.step("statistics")
    data["levels"] = bench.google("lido_bench_statistics", ".")
    progress.step("connection pools")
    data["connections"] = list(bench.connections())
    progress.step("slot maps")
    if (bench.folder / "lido_bench_slot_map").exists():
        data["slot_maps"] = bench.google("lido_bench_slot_map", options.slot_maps)
    progress.step("shared operations")
    data["counts"] = bench.counts()
    progress.step("compile time")
    data["builds"] = builds(bench, names)
    progress.step("flame graph")
    data["flames"] = flames(bench, options.flame_time)
    progress.end()
    return {"context": {**bench.contexts[0], "commit": options.commit, "own": options.own}, **data}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="folder of the build, with compile_commands.json and bench/lido_bench")
    parser.add_argument("results", type=Path, help="where results.json is written")
    parser.add_argument("--contenders", default="", help="names, separated by commas; all if left out")
    parser.add_argument("--threads", default="", help="numbers, separated by commas; those that lido_bench takes for this machine if left out")
    parser.add_argument("--pin", action="store_true", help="pins the threads of lido_bench to processors")
    parser.add_argument("--slot-maps", default=".", help="which of the slot maps' benches run, a regular expression")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--min-time", type=float, default=0.01, help="seconds of a repetition")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--own", default="", help="the name of a contender from outside")
    options = parser.parse_args()
    if options.own and options.contenders:
        options.contenders += f",{options.own}"
    cells = (len(options.contenders.split(",")) if options.contenders else 36) * (len(options.threads.split(",")) if options.threads else 4)
    # The length of this run relative to a quick one of ten contenders and three numbers of threads.
    options.share = cells / 30 * options.repetitions / 3 * (options.min_time + 0.03) / 0.04
    options.flame_time = min(1.0, 0.1 + options.min_time * 30)  # less gives a handful of samples
    options.results.write_text(json.dumps(measure(options)), encoding="utf-8")


if __name__ == "__main__":
    main()
