#!/usr/bin/env python3
"""Checks that the compiler says what the page quotes.

usage: page.py PAGE CASES COMPILER_ID

A table below `<!-- refused: case -->` has a row for each compiler: its name, and parts of its messages in backticks.
Each part is in CASES/<case>.txt, which refused.py has written.
"""
import re
import sys
from pathlib import Path

MARKER = re.compile(r"^<!-- refused: (\w+) -->\n+((?:\|.*\n)+)", re.M)
ROW = re.compile(r"^\| (GCC|Clang) \| (.*) \|$", re.M)


def plain(text: str) -> str:
    """Quotes depend on the language of the system."""
    return text.replace("‘", "'").replace("’", "'").replace("\\|", "|")


def main() -> None:
    page, cases, compiler = Path(sys.argv[1]), Path(sys.argv[2]), "Clang" if "Clang" in sys.argv[3] else "GCC"
    tables = MARKER.findall(page.read_text(encoding="utf-8"))
    errors = [] if len(tables) >= 6 else [f"{page}: only {len(tables)} tables"]
    for case, table in tables:
        said = plain((cases / f"{case}.txt").read_text(encoding="utf-8"))
        parts = [part for name, cell in ROW.findall(table) if name == compiler for part in re.findall(r"`([^`]+)`", cell)]
        errors += [] if parts else [f"{case}: no words of {compiler}"]
        errors += [f"{case}: {compiler} does not say: {part}" for part in parts if plain(part) not in said]
    sys.exit("\n".join(errors) if errors else 0)


if __name__ == "__main__":
    main()
