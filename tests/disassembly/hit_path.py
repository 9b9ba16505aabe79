#!/usr/bin/env python3
"""Finds the hit path of compiled functions and checks what is on it.

The hit path is the shortest path from a function's entry to a `ret` that makes no call and writes to
memory beyond the stack. A hit takes or gives an object, so it stores. An early return for null or
empty does not, and everything slow is out of line, behind a call.
It must have no locked instruction, no fence, at most one access to thread-local storage and at
most a given number of instructions. With --bound-after-top one of the two words behind the one
that is stored last must be read after that store, and not before. Only in this order can a thief's
heavy fence replace a fence between the two.
"""
import argparse
import heapq
import re
import subprocess
import sys
from dataclasses import dataclass

LABEL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*?)\s*$")
RELOCATION = re.compile(r"\t[0-9a-f]+: R_(?:X86_64|AARCH64)_")
PLACE = re.compile(r"\[([^\]]*?)(?:(?:\+0x|, #(?:0x)?)([0-9a-f]+))?\]")
SUM = re.compile(r"add\s+(\w+), (\w+), #0x([0-9a-f]+)$")
TARGET = re.compile(r"^([0-9a-f]+)\b")
PREFIXES = {"bnd", "notrack", "data16", "rep", "repz", "repnz", "cs", "ds", "es", "addr32"}
FENCES = {"mfence", "lfence", "sfence", "cpuid", "serialize", "syscall"}
READS_ONLY = {"cmp", "test", "lea", "nop", "nopw", "nopl", "push", "call", "ucomiss", "ucomisd", "bt"}


@dataclass(frozen=True)
class Instruction:
    address: int
    text: str
    external: bool  # its target is another symbol

    @property
    def words(self) -> list[str]:
        words = self.text.split(None)
        while words and words[0] in PREFIXES:
            words = words[1:]
        return words or ["nop"]

    @property
    def name(self) -> str:
        return self.words[0]

    @property
    def destination(self) -> str:
        return " ".join(self.words[1:]).split(",")[0]

    @property
    def touches_memory(self) -> bool:
        return "[" in self.text and self.name not in ("lea", "nop", "nopw", "nopl")

    @property
    def stores(self) -> bool:
        place = self.destination
        return "[" in place and "[rsp" not in place and self.name not in READS_ONLY and not self.jumps

    @property
    def place(self) -> tuple[str, int] | None:
        """Returns the register that an access uses, and the offset."""
        match = PLACE.search(self.text) if self.touches_memory else None
        decimal = match is not None and "#" in match[0] and "0x" not in match[0]
        return (match[1], int(match[2] or "0", 10 if decimal else 16)) if match else None

    @property
    def jumps(self) -> bool:
        return self.name.startswith("j") or self.name.startswith("loop")

    @property
    def target(self) -> int | None:
        match = TARGET.match(self.destination)
        return int(match[1], 16) if match and not self.external else None

    @property
    def ends(self) -> bool:
        """Returns whether control does not return to the function: it is left, or a call is made."""
        return self.name in ("call", "ret", "ud2", "hlt")

    @property
    def always_jumps(self) -> bool:
        return self.name == "jmp"

    @property
    def fault(self) -> str:
        if self.text.startswith("lock") or " lock " in self.text:
            return "a locked instruction"
        if self.name == "xchg" and self.touches_memory:
            return "an exchange with memory, which locks"
        return "a fence" if self.name in FENCES else ""


def disassemble(
    objdump: str, path: str, kind: type = Instruction, options: tuple[str, ...] = ("--disassembler-options=intel",)
) -> dict[str, list[Instruction]]:
    command = [objdump, "--disassemble", "--reloc", "--wide", "--no-show-raw-insn", *options, path]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    functions: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in output.split("\n"):
        code, *relocation = RELOCATION.split(line, maxsplit=1)
        if label := LABEL.match(line):
            current = functions.setdefault(label[1], [])
        elif match := INSTRUCTION.match(code.split(" # ")[0]):
            current.append(kind(int(match[1], 16), match[2], bool(relocation)))
    return functions


def followers(body: list[Instruction], at: int) -> list[int]:
    """Returns where control goes inside the function; a call or a jump out of it leads nowhere."""
    one = body[at]
    if one.ends:
        return []
    following = [at + 1] if at + 1 < len(body) else []
    if not one.jumps:
        return following
    places = {i.address: n for n, i in enumerate(body)}
    inside = [places[one.target]] if one.target in places else []
    return inside if one.always_jumps else following + inside


def hit_path(body: list[Instruction]) -> list[Instruction] | None:
    """Returns the shortest path to a ret with a store on it; steps are (length, instruction, stored)."""
    queue: list[tuple[int, int, bool, tuple[int, ...]]] = [(1, 0, body[0].stores, (0,))]
    seen: set[tuple[int, bool]] = set()
    while queue:
        length, at, stored, path = heapq.heappop(queue)
        if (at, stored) in seen:
            continue
        seen.add((at, stored))
        if body[at].name == "ret" and stored:
            return [body[n] for n in path]
        for following in followers(body, at):
            step = (length + 1, following, stored or body[following].stores, (*path, following))
            heapq.heappush(queue, step)
    return None


def places_of(path: list[Instruction]) -> list[tuple[str, int] | None]:
    """Returns the same for each access; arm64 has the sum of a register and an offset in another register."""
    sums: dict[str, tuple[str, int]] = {}
    places = []
    for one in path:
        base, distance = one.place or ("", 0)
        origin, more = sums.get(base, (base, 0))
        places.append((origin, more + distance) if one.place else None)
        if match := SUM.match(one.text):
            sums[match[1]] = (match[2], int(match[3], 16))
        else:
            sums.pop(one.destination, None)
    return places


def misplaced_bound(path: list[Instruction]) -> list[str]:
    last = max(at for at, one in enumerate(path) if one.stores)
    places = places_of(path)
    base, distance = places[last] or ("", 0)
    reads = [at for at, place in enumerate(places) if place in ((base, distance + 8), (base, distance + 16))]
    if not reads:
        return ["no bound is looked at"]
    return ["a bound is looked at before the top is stored"] if reads[0] < last else []


def judge(body: list[Instruction] | None, limit: int) -> tuple[list[Instruction], list[str]]:
    if not body:
        return [], ["the function is not in the object file"]
    path = hit_path(body)
    if path is None:
        return [], ["no path to a return that stores and makes no call"]
    faults = [f"{i.address:x}: {i.text}: {i.fault}" for i in path if i.fault]
    thread_local = sum("fs:" in i.text for i in path)
    if thread_local > 1:
        faults.append(f"{thread_local} accesses to thread-local storage (limit 1)")
    if len(path) > limit:
        faults.append(f"{len(path)} instructions (limit {limit})")
    return path, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("object_file")
    parser.add_argument("functions", nargs="+")
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--limit", type=int, default=24)
    parser.add_argument("--bound-after-top", action="store_true")
    parser.add_argument("--expect-rejected", action="store_true", help="fail for functions that pass")
    options = parser.parse_args()
    bodies = disassemble(options.objdump, options.object_file)
    failed = False
    for name in options.functions:
        path, faults = judge(bodies.get(name), options.limit)
        faults += misplaced_bound(path) if path and options.bound_after_top else []
        print(f"{name}: {len(path)} instructions on the hit path" + "".join(f"\n  {fault}" for fault in faults))
        rejected = bool(faults) and name in bodies
        if rejected != options.expect_rejected or (faults and name not in bodies):
            failed = True
            print(f"  {'not rejected' if options.expect_rejected else 'rejected'}; its code:")
            print("\n".join(f"    {i.address:4x}  {i.text}" for i in path or bodies.get(name, [])))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
