#!/usr/bin/env python3
"""Runs markdownlint over the documents. scripts/setup.sh installs it; where npm cannot, the test is skipped.

Usage: markdownlint.py SOURCE
"""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from check_common import files_below  # noqa: E402

SKIPPED = 77


def main(source: Path) -> int:
    program = source / "build/markdownlint/node_modules/.bin/markdownlint-cli2"
    if not program.exists():
        print(f"markdownlint skipped: there is no {program}")
        return SKIPPED
    # Named one by one: a pattern would be looked for in build folders, too, however large they are.
    files = [str(path.relative_to(source)) for path in files_below(source, ["."], lambda path: path.suffix == ".md")]
    return subprocess.run([str(program), "--no-globs", *files], cwd=source).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
