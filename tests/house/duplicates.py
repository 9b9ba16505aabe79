#!/usr/bin/env python3
"""Looks for code that stands twice in the library and its scripts, with jscpd.

scripts/setup.sh installs it; where npm cannot, the test is skipped.

Usage: duplicates.py SOURCE [FOLDER...]
"""
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
FOLDERS = ["include", "src", "scripts"]
# Shorter runs are mostly declarations that only look alike.
LEAST_TOKENS = "60"
LEAST_LINES = "6"


def main(source: Path, folders: list[str]) -> int:
    program = source / "build/jscpd/node_modules/.bin/jscpd"
    if not program.exists():
        print(f"duplicates skipped: there is no {program}")
        return SKIPPED
    return subprocess.run([str(program), "--min-tokens", LEAST_TOKENS, "--min-lines", LEAST_LINES, "--threshold", "0",
                           "--reporters", "consoleFull,threshold", "--format", "cpp,c-header,c,python,bash",
                           "--formats-exts", "cpp:cpp,hpp", *folders], cwd=source).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:] or FOLDERS))
