#!/usr/bin/env python3
"""Checks that the compiler says what the page quotes.

usage: page.py PAGE CASES COMPILER_ID -- COMPILER ARGUMENT...

A table below `<!-- refused: case -->` has a row for each compiler: its name, and parts of its messages in backticks.
The first part is in the first message, the others are in any. The messages are in CASES/<case>.txt, which refused.py has
written. A case that cannot be compiled together with others is compiled here, with what its line `// flags:` adds.
Each section has a table, except the one on the linker.
"""
import re
import subprocess
import sys
from pathlib import Path

MARKER = re.compile(r"^<!-- refused: (\w+) -->\n+((?:\|.*\n)+)", re.M)
ROW = re.compile(r"^\| (GCC|Clang) \| (.*) \|$", re.M)


FIRST = re.compile(r": (?:(?:fatal )?error|warning): (.*)")
FLAGS = re.compile(r"^// flags: (.*)$", re.M)


def plain(text: str) -> str:
    """Quotes depend on the language of the system."""
    return text.replace("‘", "'").replace("’", "'").replace("\\|", "|")


def messages(case: str, cases: Path, command: list[str]) -> str:
    written = cases / f"{case}.txt"
    if written.exists():
        return plain(written.read_text(encoding="utf-8"))
    source = Path(__file__).with_name(f"{case}.cpp")
    flags = FLAGS.findall(source.read_text(encoding="utf-8"))
    return plain(subprocess.run([*command, *flags, source], capture_output=True, text=True).stderr)


def faults(case: str, parts: list[str], said: str) -> list[str]:
    first = FIRST.search(said)
    if not parts or not first:
        return [f"{case}: no words, or no message"]
    begins = [] if plain(parts[0]) in first[1] else [f"{case}: the first message is: {first[1]}"]
    return begins + [f"{case}: the compiler does not say: {part}" for part in parts if plain(part) not in said]


def main() -> None:
    end = sys.argv.index("--")
    page, cases, compiler = Path(sys.argv[1]), Path(sys.argv[2]), "Clang" if "Clang" in sys.argv[3] else "GCC"
    text = page.read_text(encoding="utf-8")
    sections = text.split("\n## ")[1:]
    errors = [f"no table: {section.splitlines()[0]}" for section in sections
              if not MARKER.search(section) and not section.startswith("It does not link")]
    for case, table in MARKER.findall(text):
        parts = [part for name, cell in ROW.findall(table) if name == compiler for part in re.findall(r"`([^`]+)`", cell)]
        errors += faults(case, parts, messages(case, cases, sys.argv[end + 1:]))
    sys.exit("\n".join(errors) if errors else 0)


if __name__ == "__main__":
    main()
