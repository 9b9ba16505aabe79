#!/usr/bin/env python3
"""Every compare-and-swap of the library has a window that tests can open.

Between the moment a word was read and its compare-and-swap others may change what it stands for. That is
where fuzzed and stalled builds stop a thread, so a `schedule_point()` must stand in the window: at most
REACH lines above the compare-and-swap, in the loop around it if there is one.
"""
import re
import sys
from pathlib import Path

from check_common import Block, Outline, files_below, is_cpp, line_of, run

FOLDERS = ["include/lido", "src"]
REACH = 14
CAS = re.compile(r"\bcompare_exchange_(?:weak|strong)\s*\(")
POINT = re.compile(r"\bschedule_point\s*\(\s*\)\s*;")
# The seam itself, and atomics of tests that stand for std::atomic.
EXEMPT = ["include/lido/concurrency/atomic.hpp", "include/lido/testing/"]


def is_exempt(name: str) -> bool:
    return any(name.startswith(prefix) for prefix in EXEMPT)


def loop_around(block: "Block | None") -> "Block | None":
    """The innermost loop in the same function."""
    while block is not None and block.kind in ("loop", "control"):
        if block.kind == "loop":
            return block
        block = block.parent
    return None


def fault(outline: Outline, offset: int) -> str | None:
    code = outline.code
    points = [m.start() for m in POINT.finditer(code) if m.start() < offset]
    if not points or line_of(code, offset) - line_of(code, points[-1]) > REACH:
        return f"no schedule_point() in the {REACH} lines above this compare-and-swap"
    start, block = outline.statement(offset)
    if re.match(r"(while|for)\b", code[start:]):
        return "a compare-and-swap in the head of a loop: only its body has room for a schedule_point()"
    loop = loop_around(block)
    if loop is not None and points[-1] < loop.open:
        return "the schedule_point() is outside the loop around this compare-and-swap"
    return None


def check_file(root: Path, path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    outline = Outline(text)
    found = [(line_of(text, m.start()), fault(outline, m.start())) for m in CAS.finditer(outline.code)]
    return [f"{path.relative_to(root)}:{line}: {what}" for line, what in found if what]


def check(root: Path) -> tuple[int, list[str]]:
    files = files_below(root, FOLDERS, is_cpp)
    files = [f for f in files if not is_exempt(f.relative_to(root).as_posix())]
    return len(files), [error for file in files for error in check_file(root, file)]


if __name__ == "__main__":
    sys.exit(run("windows", check))
