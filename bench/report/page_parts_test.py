#!/usr/bin/env python3
"""Tests what the contention report computes, on made-up runs with known answers; and that README's chart and the table agree.

usage: page_parts_test.py
"""
import copy
import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

import measure
import other_pools
import page
import publish
import tables

NAMES = {
    "lido::detail::slot_allocator::acquire_slow(lido::detail::slot_cache&)": "lido::detail::slot_allocator::acquire_slow",
    "std::vector<int, std::allocator<int> >::operator[](unsigned long) const": "std::vector::operator[]",
    "operator new(unsigned long)": "operator new",
    "operator delete[](void*, unsigned long)": "operator delete[]",
    "lido::handle::operator bool() const": "lido::handle::operator bool",
    "bool std::operator< <int>(int const&, int const&)": "std::operator<",
    "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)": "std::operator<<",
    "lido_bench::run_team<lido_bench::run<x>(unsigned int)::{lambda(lane&)#1}>(unsigned int)::{lambda()#2}::operator()() const": "lido_bench::run_team::{lambda}",
    "std::thread::_Invoker<std::tuple<a> >::operator()()": "std::thread::_Invoker::operator()",
    "lido::(anonymous namespace)::steal(int) [clone .isra.0]": "lido::steal",
    "decltype (auto) lido::visit<int>(int&&)": "lido::visit",
    "lido::a<(1>2)>::~a()": "lido::a::~a",
    "__memset_avx512_unaligned_erms": "__memset_avx512_unaligned_erms",
}


def entry(workload, contender, threads, repetition, time, busy=1.0):
    return {"name": f"{workload}/{contender}/threads:{threads}/manual_time", "run_type": "iteration", "iterations": 10, "repetition_index": repetition,
            "ns_per_op": time, "cpu_ns_per_op": time / busy, "failed": 0.0}


def run(lido=1.0, peer=3.0, spread=0.05, repetitions=3, busy=1.0, threads=(8, 2, 1), **context):
    """Returns bursts and hand-offs of four contenders, with threads in no order; Lido's hand-off takes ten times as long."""
    times = {"burst": {"floor": 0.5, "lido": lido, "tcmalloc": peer, "malloc": 9.0}, "handoff": {"ring_alone": 5.0, "lido": 10 * lido, "malloc": 5.0}}
    entries = [entry(workload, name, count, number, time * (1 + spread * (number - (repetitions - 1) / 2)), busy)
               for workload, contenders in times.items() for name, time in contenders.items() for count in threads
               if workload == "burst" or count > 1 for number in range(repetitions)]
    return {"context": {"processor": "A", "cores": "2", "host_name": "here", "commit": "c", "compiler": "g++", "date": "2026-01-02T03:04", **context},
            "benchmarks": entries}


def said(data):
    return page.run_data(page.runs_of([data])[0])[0]["context"]["verdict"]


def problems_of_names():
    for symbol, name in NAMES.items():
        if measure.simpler(symbol) != name:
            yield f"{symbol} is called {measure.simpler(symbol)}, not {name}"


def problems_of_verdicts():
    wanted = {
        "On 8 threads Lido takes 0.33 times as long as tcmalloc, the fastest of 2 peers, in bursts of 256, and it takes 2.00 times as long as malloc, "
        "in hand-off between threads.": run(),
        "On 8 threads Lido is level with tcmalloc, the fastest of 2 peers, in bursts of 256, since their repetitions overlap, and it takes 2.00 times "
        "as long as malloc, in hand-off between threads.": run(peer=1.02),
        "On 2 threads Lido takes 0.33": run(threads=(2, 1)),
        "These numbers allow no ranking: they were disturbed.": run(busy=1.5),
        "These numbers allow no ranking: fewer than 3": run(repetitions=2),
    }
    for text, data in wanted.items():
        if not said(data).startswith(text):
            yield f"instead of '{text}' it says '{said(data)}'"
    for warned, data in {True: run(busy=1.5), False: run()}.items():
        context = page.run_data(page.runs_of([data])[0])[0]["context"]
        if context["warning"].startswith("These numbers allow no ranking: they were disturbed.") != warned:
            yield f"the ranking begins with '{context['warning']}'"
    if page.run_data(page.runs_of([run(repetitions=2)])[0])[0]["context"]["warning"] != said(run(repetitions=2)):
        yield "the ranking does not begin with the warning of few repetitions"
    failing = run()
    for one in failing["benchmarks"]:
        one["failed"] = 5.0 if "tcmalloc" in one["name"] else 0.0
    if "as malloc, in bursts" not in said(failing):
        yield f"a peer whose acquires fail is compared with: {said(failing)}"


def problems_of_runs():
    shown = page.run_data(page.runs_of([run()])[0])[0]
    if [row["threads"] for row in shown["rows"] if row["contender"] == "lido" and row["workload"] == "burst"] != [1, 2, 8]:
        yield "threads are not in their order"
    if shown["rows"][0]["workload"] != "burst":
        yield "the page does not begin with contention"
    latency = page.once([{"name": f"latency/lido/threads:{count}/iterations:1", "p50": 1.0} for count in (8, 1, 2)], "latency")
    if [row["threads"] for row in latency] != [1, 2, 8]:
        yield "threads of latencies are not in their order"
    extra = {"counts": [{"workload": "pair", "threads": 2, "per_operation": 0.0000020}, {"workload": "handoff", "threads": 2, "per_operation": 0.05}],
             "builds": [{"contender": name, "seconds": 0.5} for name in ("floor", "lido", "ring_alone")]}
    shown = page.run_data({**page.runs_of([run()])[0], **extra})[0]
    if [row["per_million"] for row in shown["counts"]] != ["2", "50,000"]:
        yield f"rare operations are given as {shown['counts']}"
    if [row["contender"] for row in shown["builds"]] != ["lido"]:
        yield f"the page has compile times of {[row['contender'] for row in shown['builds']]}"
    pools = [{"run_name": f"pool_of_16/{use}/{count}", "real_time": time, "heap_bytes": 96.0, "resident_bytes": 128.0}
             for use, count, time in (("used_by_one_thread", 1, 400.0), ("unused", 1000, 300_000.0), ("unused", 1, 310.0), ("used_by_one_thread", 1000, 10_000_000.0))]
    if [(row["name"], row["microseconds"]) for row in page.pool_rows([{"run_name": "next_pool"}, {"run_name": "thread_end/1/manual_time"}, *pools])] != [
            ("unused, 1 at a time", 0.31), ("unused, 1,000 at a time", 0.3), ("used by one thread, 1 at a time", 0.4), ("used by one thread, 1,000 at a time", 10.0)]:
        yield f"costs of pools are mixed: {list(page.pool_rows(pools))}"
    parts = run(), run()
    parts[0]["benchmarks"] = [one for one in parts[0]["benchmarks"] if one["name"].startswith("burst")]
    parts[1]["benchmarks"] = [one for one in parts[1]["benchmarks"] if one["name"].startswith("handoff")]
    counts = {"parts of one": len(page.runs_of(copy.deepcopy(parts))), "equal": len(page.runs_of([run(), run()])),
              "other machines": len(page.runs_of([run(), run(processor="B")]))}
    if counts != {"parts of one": 1, "equal": 2, "other machines": 2}:
        yield f"files are put together as runs wrongly: {counts}"


def problems_of_files():
    """A page of two runs names both processors and can be mailed; its own download can be read again."""
    with tempfile.TemporaryDirectory() as folder:
        text = page.write_page([run(), run(processor="Neoverse", busy=1.5)], Path(folder)).read_text(encoding="utf-8")
        yield from (f"a page of two runs does not have {part}" for part in ("A, 2 cores: On 8 threads Lido", "Neoverse, 2 cores: Something else ran",
                    'class="warning"><strong>Warning', 'download="results-2.json.gz"', "<h3>Neoverse, 2 cores</h3>") if part not in text)
        packed = Path(folder) / "results.json.gz"
        packed.write_bytes(gzip.compress(json.dumps(run()).encode()))
        if tables.read(packed) != run():
            yield "a compressed file is not read"


def problems_of_other_pools():
    text = ("contender            pair/1   pair/8   2us/16  2us/1e4 same/p50      p99\nlido  672.2 524.4 9574 0 7765 52431\n"
            "contender  same/1 8 keys/2 1000/8\nlido_keyed 1163.0 653.2 0.0\n2 us of work, 8 resources over all keys: threads/keys\n"
            "contender 16/1 1000/1\nlido_keyed 8195 16220\n")
    found = {one["name"]: [(row["contender"], row["column"], row["ns"]) for row in one["rows"]]
             for one in other_pools.connections([list(other_pools.lines_of(text))])}
    if found != {"pair": [("lido", 1, 672.2), ("lido", 8, 524.4)], "2us": [("lido", 16, 9574.0)], "same": [("lido_keyed", 1, 1163.0)],
                 "8 keys": [("lido_keyed", 2, 653.2)]}:
        yield f"the benches of connection pools are read as {found}"


def problems_of_published():
    """Chart and table of the tree agree, and one that does not is found."""
    yield from publish.problems(publish.Places(publish.ROOT))
    with tempfile.TemporaryDirectory() as folder:
        tree = publish.Places(Path(folder))
        tree.images.mkdir(parents=True)
        tree.data.parent.mkdir(parents=True)
        whole = publish.Places(publish.ROOT)
        for old in (whole.data, whole.text, *whole.images.glob("contention-*.svg")):
            shutil.copy(old, Path(folder) / old.relative_to(publish.ROOT))
        data = json.loads(tree.data.read_text(encoding="utf-8"))
        for row in data["rows"]:
            row["ns"] *= 2
        publish.write_data(tree.data, data)
        if len(list(publish.problems(tree))) != 3:
            yield "a table and charts of another run are not found"
    kept = publish.medians_of(run())
    if {(row["workload"], row["threads"]) for row in kept["rows"]} != {("burst", 1), ("burst", 2), ("burst", 8), ("handoff", 2), ("handoff", 8)}:
        yield f"of a run is kept {kept['rows']}"
    if "0.33" in publish.table_of(kept) or "| lido | 1.00 (2.00) |" not in publish.table_of(kept):
        yield f"the table of a run is {publish.table_of(kept)}"
    if not all(row["low"] < row["value"] < row["high"] for row in publish.chart_of(kept)["rows"] if row["name"] == "Lido"):
        yield "the chart of a run has no whiskers"


if __name__ == "__main__":
    problems = [problem for part in (problems_of_names, problems_of_verdicts, problems_of_runs, problems_of_files, problems_of_other_pools, problems_of_published)
                for problem in part()]
    print("\n".join(problems))
    print("parts of the report:", "FAILED" if problems else "ok")
    sys.exit(1 if problems else 0)
