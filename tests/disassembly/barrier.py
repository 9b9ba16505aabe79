#!/usr/bin/env python3
"""Checks that there is a full barrier on every path through a function, as the name full_fence promises.

On x86-64 that is `mfence`, an instruction with a `lock` prefix or an exchange with memory; on arm64 `dmb ish`,
and not the weaker `dmb ishld` and `dmb ishst`. Paths end where the function returns or jumps to another one.
"""
import argparse
import re
import sys

import hit_path
from arm64 import Arm64Instruction
from hit_path import Instruction

BARRIER_X86 = re.compile(r"^(mfence\b|lock\s|xchg\s.*\[)")
BARRIER_ARM64 = re.compile(r"^dmb\s+ish$")
LEAVES = ("ret", "br", "ud2", "hlt", "brk", "udf")


def followers(body: list[Instruction], at: int) -> list[int] | None:
    """Returns where control goes from here inside the function; empty: it may leave it."""
    one = body[at]
    if one.name in LEAVES or at + 1 == len(body) and not one.always_jumps:
        return None
    if not one.jumps:
        return [at + 1]  # a call returns
    places = {i.address: n for n, i in enumerate(body)}
    if one.target not in places:
        return None
    return [places[one.target]] if one.always_jumps else [at + 1, places[one.target]]


def judge(body: list[Instruction] | None, barrier: re.Pattern[str]) -> tuple[set[str], str]:
    """Returns the barriers found, and errors."""
    if not body:
        return set(), "the function is not in the file"
    found: set[str] = set()
    waiting, seen = [0], set()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        if barrier.match(body[at].text):
            found.add(body[at].text)
            continue
        following = followers(body, at)
        if following is None:
            return found, f"left at {body[at].address:x}: {body[at].text}, with no barrier on the way"
        waiting += following
    return found, "" if found else "it never ends, and has no barrier"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="an object file or a library")
    parser.add_argument("functions", nargs="+")
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--arm64", action="store_true")
    parser.add_argument("--expect-rejected", action="store_true", help="fail for functions that pass")
    options = parser.parse_intermixed_args()
    if options.arm64:
        bodies = hit_path.disassemble(options.objdump, options.file, Arm64Instruction, ())
    else:
        bodies = hit_path.disassemble(options.objdump, options.file)
    failed = False
    for name in options.functions:
        body = bodies.get(name)
        found, fault = judge(body, BARRIER_ARM64 if options.arm64 else BARRIER_X86)
        print(f"{name}: {'rejected: ' + fault if fault else ', '.join(sorted(found))}")
        failed |= bool(fault) != options.expect_rejected or body is None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
