#!/usr/bin/env python3
"""Prints a name for all that clang-tidy's opinion of a source depends on.

That is the tool, its configuration, the options of the compiler, and the text of the source and of each file it
includes. Where the checkout lies is no part of it. scripts/tidy.sh keeps the names of what was clean.

usage: tidy_key.py FOLDER_WITH_DATABASE SOURCE TOOL
"""
import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compiled_as(database: Path, source: str) -> tuple[str, list[str]]:
    """The folder and the command of a source, without what it writes."""
    for entry in json.loads((database / "compile_commands.json").read_text(encoding="utf-8")):
        if (Path(entry["directory"]) / entry["file"]).resolve() == Path(source).resolve():
            command = shlex.split(entry["command"])
            output = command.index("-o")
            return entry["directory"], command[:output] + command[output + 2:]
    raise SystemExit(f"tidy_key: {source} is not in the database")


def main() -> None:
    database, source, tool = sys.argv[1:]
    folder, command = compiled_as(Path(database), source)
    rule = subprocess.run([*command, "-w", "-M"], cwd=folder, check=True, capture_output=True, text=True).stdout
    read = rule.replace("\\\n", " ").split(":", 1)[1].split()
    options = [word.replace(str(ROOT), "") for word in command if word != source]
    version = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout
    key = hashlib.sha256("\0".join([version, *options]).encode())
    settings = [ROOT / "scripts" / "tidy.sh", ROOT / ".clang-tidy", *sorted(ROOT.glob("*/.clang-tidy"))]
    for path in [*settings, *read]:
        key.update(hashlib.sha256(Path(folder, path).read_bytes()).digest())
    print(key.hexdigest())


if __name__ == "__main__":
    main()
