#!/usr/bin/env python3
"""Writes the database that scripts/tidy.sh gives to clang-tidy, and prints what to look at, a line each.

That is our sources in the folders that are named. One that is built several times is there once, as the library builds
it; one that a unity build has put together with others is there by itself.

Most of what clang-tidy does is to look at the standard library, for each file anew. So the headers of one target of the
library are written into one file, and its sources into another ("together"), each to be looked at as one. That every
header can be included by itself is for the compiler to say. CMake generates a file for each, for
VERIFY_INTERFACE_HEADER_SETS. The commands that compile these go to the same folder's "headers".

usage: tidy_database.py COMPILE_COMMANDS FOLDER_TO_WRITE_TO FOLDER_OF_OURS...
"""
import json
import os
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = f"{ROOT}/src/"
HEADER_SETS = re.compile(r"/([^/]+)_verify_interface_header_sets/")


def alone(entry):
    """What an entry of the database compiles, each source by itself."""
    file = (Path(entry["directory"]) / entry["file"]).resolve()
    is_unity = file.parent.name == "Unity"
    united = re.findall('^#include "(.+)"', file.read_text(encoding="utf-8"), re.M) if is_unity else [str(file)]
    for source in united:
        yield {**entry, "file": source, "command": entry["command"].replace(entry["file"], source)}


def target_of(entry):
    if header_set := HEADER_SETS.search(entry["file"]):
        return header_set[1]
    return re.search(r"CMakeFiles/([^/]+)\.dir/", entry["command"])[1]


def together(kind, entries, line_of, folder):
    """Entries of one file for each target of the library, which includes what `line_of` says of each entry."""
    folder.mkdir(parents=True, exist_ok=True)
    targets = {}
    for entry in entries:
        targets.setdefault(target_of(entry), []).append(entry)
    for target, members in sorted(targets.items()):
        unit = folder / f"{target}.{kind}.cpp"
        unit.write_text("".join(line_of(entry, folder) for entry in members), encoding="utf-8")
        first = members[0]
        yield {**first, "file": str(unit), "command": first["command"].replace(first["file"], str(unit))}


def source_line(entry, folder):
    """Returns an include of the source, independent of where the checkout lies."""
    return f'#include "{os.path.relpath(entry["file"], folder)}"  // NOLINT(bugprone-suspicious-include)\n'


def header_line(entry, _):
    return re.search("^#include .*\n", Path(entry["file"]).read_text(encoding="utf-8"), re.M)[0]


def syntax_only(entry):
    words = shlex.split(entry["command"])
    output = words.index("-o")
    return shlex.join(["cd", entry["directory"]]) + " && " + shlex.join(
        [*words[:output], *words[output + 2:], "-fsyntax-only"])


def main():
    commands, written, *folders = sys.argv[1:]
    written = Path(written).resolve()
    ours = tuple(f"{ROOT}/{folder}/" for folder in folders)
    first = {}
    for entry in json.loads(Path(commands).read_text(encoding="utf-8")):
        for source in alone(entry):
            first.setdefault(source["file"], source)
    entries = [entry for _, entry in sorted(first.items())]
    headers = [entry for entry in entries if HEADER_SETS.search(entry["file"])]
    sources = [entry for entry in entries if entry["file"].startswith(ours)]
    of_library = [entry for entry in sources if entry["file"].startswith(LIBRARY)]
    looked_at = [
        *together("headers", headers, header_line, written / "together"),
        *together("sources", of_library, source_line, written / "together"),
        *sources,
    ]
    (written / "compile_commands.json").write_text(json.dumps(looked_at, indent=0), encoding="utf-8")
    (written / "headers").write_text("".join(syntax_only(entry) + "\n" for entry in headers), encoding="utf-8")
    print("\n".join(entry["file"] for entry in looked_at))


if __name__ == "__main__":
    main()
