#!/usr/bin/env python3
"""Checks the instructions of arm64: what hit_path.py requires of a hit, and the atomics of a function.

A hit must publish by `stlr` and have no barrier, no exclusive pair, no read-modify-write and no call. Without
--hit the whole function is examined: it must have an instruction, or call a function, for each pattern of
--need, and no barrier. With --thread-reads only the reads of the thread pointer are counted: one for each call
between which a fiber may change threads.
"""
import argparse
import re
import subprocess
import sys

import hit_path
from hit_path import Instruction

BARRIER = re.compile(r"^(dmb|dsb)$")
EXCLUSIVE = re.compile(r"^(ldxr|ldaxr|stxr|stlxr|ldxp|ldaxp|stxp|stlxp)[bh]?$")
ATOMIC = re.compile(r"^(cas|swp|ld(?:add|clr|eor|set|smax|smin|umax|umin)|st(?:add|clr|eor|set))")
CALLED = re.compile(r"R_AARCH64_(?:CALL|JUMP)26\s+(\S+)")


class Arm64Instruction(Instruction):
    @property
    def stores(self) -> bool:
        return self.name.startswith("st") and "[sp" not in self.text

    @property
    def jumps(self) -> bool:
        return self.always_jumps or self.name.startswith(("b.", "cbz", "cbnz", "tbz", "tbnz"))

    @property
    def always_jumps(self) -> bool:
        return self.name == "b"

    @property
    def ends(self) -> bool:
        return self.name in ("bl", "blr", "br", "ret", "brk", "udf")

    @property
    def target(self) -> int | None:
        # The last operand: `cbz x0, 44 <f+0x44>`, `b.ne 1c <f+0x1c>  // b.any`.
        place = re.search(r"(?:^|[\s,])([0-9a-f]+)(?:\s+<[^>]*>)?(?:\s*//.*)?$", self.text)
        return int(place[1], 16) if place and not self.external else None

    @property
    def fault(self) -> str:
        if BARRIER.match(self.name):
            return "a barrier"
        if EXCLUSIVE.match(self.name):
            return "an exclusive load or store"
        return "a read-modify-write" if ATOMIC.match(self.name) else ""


def called(objdump: str, path: str) -> dict[str, set[str]]:
    """Returns function -> the functions it calls, which is where base arm64 has its atomics."""
    command = [objdump, "--disassemble", "--reloc", "--wide", "--no-show-raw-insn", path]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    calls: dict[str, set[str]] = {}
    current: set[str] = set()
    for line in output.split("\n"):
        if label := hit_path.LABEL.match(line):
            current = calls.setdefault(label[1], set())
        elif match := CALLED.search(line):
            current.add(match[1])
    return calls


def judge_hit(body: list[Instruction] | None, limit: int, with_bound: bool) -> list[str]:
    path, faults = hit_path.judge(body, limit)
    if path and not any(one.name.startswith("stlr") for one in path):
        faults.append("nothing is published by stlr")
    faults += hit_path.misplaced_bound(path) if path and with_bound else []
    return faults


def judge_whole(body: list[Instruction] | None, calls: set[str], needs: list[str]) -> list[str]:
    if not body:
        return ["the function is not in the object file"]
    names = {one.name for one in body} | calls
    faults = [f"{one.address:x}: {one.text}: a barrier" for one in body if BARRIER.match(one.name)]
    return faults + [f"nothing is {need}" for need in needs if not any(re.fullmatch(need, name) for name in names)]


def judge_thread_reads(body: list[Instruction] | None, least: int) -> list[str]:
    reads = sum(one.name == "mrs" and "tpidr_el0" in one.text for one in body or [])
    return [] if reads >= least else [f"{reads} reads of the thread pointer (at least {least})"]


def judge_file(bodies: dict[str, list[Instruction]]) -> list[str]:
    return [f"{name}: {one.text}: a barrier" for name, body in bodies.items() for one in body if BARRIER.match(one.name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("object_file")
    parser.add_argument("functions", nargs="*", help="none: the whole file must have no barrier")
    parser.add_argument("--objdump", default="aarch64-linux-gnu-objdump")
    parser.add_argument("--limit", type=int, default=24)
    parser.add_argument("--hit", action="store_true", help="look at the hit path")
    parser.add_argument("--bound-after-top", action="store_true", help="as in hit_path.py")
    parser.add_argument("--need", action="append", default=[], help="pattern of an instruction or a called function")
    parser.add_argument("--thread-reads", type=int, default=0, help="least reads of the thread pointer")
    parser.add_argument("--expect-rejected", action="store_true", help="fail for functions that pass")
    options = parser.parse_intermixed_args()  # options may be between the file and the functions
    bodies = hit_path.disassemble(options.objdump, options.object_file, Arm64Instruction, ())
    calls = called(options.objdump, options.object_file)
    if not options.functions:
        faults = judge_file(bodies)
        print(f"{len(bodies)} functions" + "".join(f"\n  {fault}" for fault in faults))
        return 1 if faults or not bodies else 0
    failed = False
    for name in options.functions:
        body = bodies.get(name)
        if options.thread_reads:
            faults = judge_thread_reads(body, options.thread_reads)
        elif options.hit:
            faults = judge_hit(body, options.limit, options.bound_after_top)
        else:
            faults = judge_whole(body, calls.get(name, set()), options.need)
        print(f"{name}: {'rejected' if faults else 'as it should be'}" + "".join(f"\n  {fault}" for fault in faults))
        failed |= bool(faults) != options.expect_rejected or body is None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
