#!/usr/bin/env python3
"""Reads the counts of gcov and writes a tracefile for gcovr for each layer, which is a folder of headers and of sources.

gcovr 5.2 reads gcov's text, which does not say of a branch that never ran whether it is the way of an
exception. So a template that one program does not run turns such ways into branches that no test takes. gcov's
JSON says it. What is left out here, and nothing else:

 * the ways of exceptions: every call that may throw has one, whatever the source says;
 * what is no branch without them, since one way is left.

The instances of a template are one: a branch is taken if an instance of the same shape takes it.
"""
import argparse
import json
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def gcov(data: Path) -> dict:
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(data)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=data.parent)
    return json.loads(done.stdout)


def collect(root: Path, build: Path, folders: list[str]) -> dict[str, dict[int, dict]]:
    """file -> line -> how often it ran, and for each shape (number of branches) how often each was taken."""
    lines: dict[str, dict[int, dict]] = defaultdict(lambda: defaultdict(lambda: {"count": 0, "found": []}))
    wanted = [(root / folder).resolve() for folder in folders]
    with ThreadPoolExecutor(max_workers=2) as workers:
        for report in workers.map(gcov, sorted(build.rglob("*.gcda"))):
            for file in report["files"]:
                path = Path(report["current_working_directory"], file["file"]).resolve()
                if any(folder in path.parents for folder in wanted):
                    add(lines[str(path.relative_to(root))], file["lines"])
    for entry in (entry for of in lines.values() for entry in of.values()):
        entry["shapes"] = shapes(entry.pop("found"))
    return lines


def add(lines: dict[int, dict], found: list[dict]) -> None:
    for line in found:
        entry = lines[line["line_number"]]
        entry["count"] += line["count"]
        taken = tuple(branch["count"] for branch in line["branches"] if not branch["throw"])
        if len(taken) > 1:
            entry["found"].append((bool(line.get("function_name")), taken))


def shapes(found: list[tuple[bool, tuple[int, ...]]]) -> dict[int, list[int]]:
    """Number of branches -> how often each was taken. Of lambdas in templates gcov names no instance, and puts the
    branches of all in a file one behind the other. They are taken apart if the shortest list fits."""
    sums: dict[int, list[int]] = {}
    unit = min((len(taken) for _, taken in found), default=1)
    for is_named, taken in found:
        size = len(taken) if is_named or len(taken) % unit != 0 else unit
        for start in range(0, len(taken), size):
            so_far = sums.setdefault(size, [0] * size)
            sums[size] = [a + b for a, b in zip(so_far, taken[start:start + size])]
    return sums


def tracefile(lines: dict[str, dict[int, dict]]) -> dict:
    def branches(entry: dict) -> list[dict]:
        return [{"count": count, "fallthrough": False, "throw": False}
                for counts in entry["shapes"].values() for count in counts]

    def line(number: int, entry: dict) -> dict:
        return {"line_number": number, "count": entry["count"], "branches": branches(entry),
                "gcovr/noncode": False, "gcovr/excluded": False}

    return {"gcovr/format_version": "0.3",
            "files": [{"file": name, "functions": [], "lines": [line(n, e) for n, e in sorted(of.items())]}
                      for name, of in sorted(lines.items())]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path.cwd())
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="a folder: LAYER.json is written there")
    parser.add_argument("--not-taken", action="store_true", help="also prints the lines with a branch not taken")
    parser.add_argument("layers", nargs="+")
    options = parser.parse_args()
    root = options.root.resolve()
    folders = {layer: [f"include/lido/{layer}", f"src/{layer}"] for layer in options.layers}
    lines = collect(root, options.build.resolve(), sum(folders.values(), []))
    for layer, own in folders.items():
        chosen = {name: of for name, of in lines.items() if name.startswith(tuple(f"{folder}/" for folder in own))}
        if not chosen:
            print(f"coverage: no counts for {layer}", file=sys.stderr)
            return 1
        (options.output / f"{layer}.json").write_text(json.dumps(tracefile(chosen)))
        if options.not_taken:
            print_not_taken(root, chosen)
    return 0


def print_not_taken(root: Path, lines: dict[str, dict[int, dict]]) -> None:
    for name, of in sorted(lines.items()):
        source = (root / name).read_text().split("\n")
        for number, entry in sorted(of.items()):
            counts = [count for shape in entry["shapes"].values() for count in shape]
            if 0 in counts:
                print(f"{name}:{number}: {sum(c > 0 for c in counts)} of {len(counts)}: {source[number - 1].strip()}")


if __name__ == "__main__":
    sys.exit(main())
