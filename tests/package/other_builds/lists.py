"""Compares the files that another build system has for the library with those that CMake has, for each system.

Usage: lists.py LISTS meson MESON BUILD PLATFORM    a folder that Meson configured, not in unity
       lists.py LISTS headers INCLUDE               installed ones
LISTS has a line for each file: the platform whose it is, "all" or "header", and its path below src or include.
"""
import json
import subprocess
import sys
from pathlib import Path


def read(lists: str, *kinds: str) -> set[str]:
    lines = [line.split() for line in Path(lists).read_text(encoding="utf-8").splitlines()]
    return {path for kind, path in lines if kind in kinds}


def compare(what: str, found: set[str], wanted: set[str]) -> None:
    if found != wanted or not wanted:
        sys.exit(f"{what}: absent: {sorted(wanted - found)}, of no use: {sorted(found - wanted)}")
    print(f"{what}: {len(found)} as CMake has them")


def of_meson(lists: str, meson: str, build: str, platform: str) -> None:
    told = subprocess.run([meson, "introspect", "--targets", build], stdout=subprocess.PIPE, check=True).stdout
    sources = [Path(path) for target in json.loads(told) for part in target["target_sources"] for path in part["sources"]]
    root = Path(__file__).resolve().parents[3] / "src"
    compare(f"sources of {platform}", {str(path.relative_to(root)) for path in sources}, read(lists, "all", platform))


def of_headers(lists: str, include: str) -> None:
    found = {str(path.relative_to(include)) for path in Path(include).rglob("*.*")}
    compare("installed headers", found, read(lists, "header"))


if __name__ == "__main__":
    {"meson": of_meson, "headers": of_headers}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
