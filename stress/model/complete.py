#!/usr/bin/env python3
"""Checks that nothing is left out: every scenario is a test of ctest, every ordered access a mutant, every rule is broken.

Usage: complete.py <lido_model> <build folder> <names of the scenarios that are tests>...

The program lists the scenarios, and finds the mutants by running them. The checker of the notes reads the
accesses from the sources, so an ordered access that no scenario reaches shows here. The program breaks each
rule, or a test of ctest does so on threads.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "stress" / "mutants")]
import overlay  # noqa: E402
from check_atomics import Source  # noqa: E402

# Parts that the model replaces or does not need: the seam itself, the fences, Boost's list. Also the layer that checks for
# misuse, except for the records of its slots; traces, which touch no slot; and everything below the seam.
# ThreadSanitizer watches the last two, in the tests Trace.* and StaticMutex.*.
OUTSIDE = {"atomic.hpp", "asymmetric_fence.cpp", "full_fence.cpp", "boost_list.hpp"}
OUTSIDE_LAYERS = {"debug", "platform", "telemetry", "testing"}
INSIDE = {"slot_record.hpp"}
ORDERED = {"acquire", "release", "acq_rel", "seq_cst"}


def lines(*command: str) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def ordered_notes() -> set[str]:
    """'slot_cache.cpp (13)' for each ordered access of the sources."""
    found = set()
    for folder in ("include/lido", "src"):
        for path in sorted((ROOT / folder).rglob("*.?pp")):
            if path.name not in INSIDE and (path.name in OUTSIDE or path.parent.name in OUTSIDE_LAYERS):
                continue
            source = Source(ROOT, path.relative_to(ROOT))
            for statement in source.statements:
                if any(set(access.orders) & ORDERED for access in statement.accesses):
                    found |= {f"{path.name} ({note.number})" for note in source.notes_of(statement)}
    return found


def broken_by_tests(build: str) -> set[str]:
    """Parts of the names of the negative controls: 'no_tag' of mutant.no_tag.history."""
    names = [match[1] for line in lines("ctest", "--test-dir", build, "--show-only") if (match := re.search(r": (mutant\.\S+)", line))]
    return {part for name in names if not name.startswith(("mutant.model", "mutant.spin")) for part in name.split(".")}


def main() -> int:
    program, build, *tests = sys.argv[1:]
    scenarios = {line.split()[0] for line in lines(program, "run", "--list")}
    listed = lines(program, "mutants", "--list")
    mutants = {match[1] for line in listed if (match := re.match(r"(\S+ \(\d+\))", line))}
    errors = [f"scenario {name} is no test" for name in sorted(scenarios - set(tests))]
    errors += [f"{name} is a test but no scenario" for name in sorted(set(tests) - scenarios)]
    notes = ordered_notes()
    errors += [f"{name}: no scenario reaches this access" for name in sorted(notes - mutants)]
    rules = {rule.name for rule in overlay.read(ROOT / "stress" / "mutants")[0]}
    table = rules & {line.split()[0] for line in listed}
    tested = broken_by_tests(build)
    unbroken = rules - table - tested if tested else set()  # a build to count coverage has none of these tests
    errors += [f"{name}: a rule that nothing breaks: neither the model nor a test mutant.*" for name in sorted(unbroken)]
    errors += ["no ordered access found: the checker has changed"] if not notes else []
    print("\n".join(errors) or f"complete: {len(scenarios)} scenarios, {len(notes)} ordered accesses, "
          f"{len(mutants)} notes with mutants, {len(rules)} rules")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
