#!/usr/bin/env python3
"""Nothing is left out: every scenario is a test of ctest, every ordered access a mutant.

Usage: complete.py <lido_model> <names of the scenarios that are tests>...
The scenarios are asked of the program, the accesses are read from the sources by the checker of the
notes, and the mutants are those that the program finds by running: an ordered access that no
scenario reaches shows here.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from check_atomics import Source  # noqa: E402

# What the model stands in for, or has no use for: the seam itself, the heavy fence, Boost's list,
# the marks of for_each_in_use, and the layer that looks for misuse.
OUTSIDE = {"atomic.hpp", "asymmetric_fence.cpp", "boost_stack.hpp", "use_tracking.hpp", "rmw_counter.cpp"}
OUTSIDE_LAYERS = {"debug", "testing"}
ORDERED = {"acquire", "release", "acq_rel", "seq_cst"}


def lines(*command: str) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def ordered_notes() -> set[str]:
    """'thread_cache.cpp (13)' for each ordered access of the sources."""
    found = set()
    for folder in ("include/lido", "src"):
        for path in sorted((ROOT / folder).rglob("*.?pp")):
            if path.name in OUTSIDE or path.parent.name in OUTSIDE_LAYERS:
                continue
            source = Source(ROOT, path.relative_to(ROOT))
            for statement in source.statements:
                if any(set(access.orders) & ORDERED for access in statement.accesses):
                    found |= {f"{path.name} ({note.number})" for note in source.notes_of(statement)}
    return found


def main() -> int:
    program, *tests = sys.argv[1:]
    scenarios = {line.split()[0] for line in lines(program, "run", "--list")}
    mutants = {
        match[1] for line in lines(program, "mutants", "--kind", "order", "--list") if (match := re.match(r"(\S+ \(\d+\))", line))
    }
    errors = [f"scenario {name} is no test" for name in sorted(scenarios - set(tests))]
    errors += [f"{name} is a test but no scenario" for name in sorted(set(tests) - scenarios)]
    notes = ordered_notes()
    errors += [f"{name}: no scenario reaches this access" for name in sorted(notes - mutants)]
    errors += ["no ordered access found: the checker has changed"] if not notes else []
    print("\n".join(errors) or f"complete: {len(scenarios)} scenarios, {len(notes)} ordered accesses, {len(mutants)} notes with mutants")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
