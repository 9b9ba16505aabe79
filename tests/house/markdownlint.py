#!/usr/bin/env python3
"""Runs markdownlint over the documents. npm installs it into the build folder; where npm cannot, the test is skipped.

Usage: markdownlint.py SOURCE BUILD
"""
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from check_common import files_below  # noqa: E402

PACKAGE = "markdownlint-cli2@0.18.1"
SKIPPED = 77
MOST_SECONDS = 120


def skip(why: str) -> int:
    print(f"markdownlint skipped: {why}")
    return SKIPPED


def install(folder: Path) -> str:
    """Returns why it could not."""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm"
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--fetch-retries=1", "--loglevel=error", PACKAGE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"npm did not install {PACKAGE} within {MOST_SECONDS} s"
    return "" if done.returncode == 0 else f"npm cannot install {PACKAGE}: {done.stderr.strip()[-300:]}"


def main(source: Path, build: Path) -> int:
    program = build / "node_modules/.bin/markdownlint-cli2"
    if not program.exists() and (problem := install(build)):
        return skip(problem)
    # Named one by one: a pattern would be looked for in build folders, too, however large they are.
    files = [str(path.relative_to(source)) for path in files_below(source, ["."], lambda path: path.suffix == ".md")]
    return subprocess.run([str(program), "--no-globs", *files], cwd=source).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
