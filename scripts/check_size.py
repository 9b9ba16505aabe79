#!/usr/bin/env python3
"""No file has more than 700 lines and no Python function more than 60; clang-tidy counts those of C++ where it is run."""
import ast
import sys
from pathlib import Path

from check_common import files_below, run

FOLDERS = ["include", "src", "tests", "stress", "bench", "examples", "scripts", "cmake"]
SUFFIXES = {".hpp", ".cpp", ".h", ".ipp", ".py", ".sh", ".cmake", ".txt", ".in"}


def check_file(name: Path, text: str) -> list[str]:
    lines = text.count("\n")
    found = [f"{name}: {lines} lines"] if lines > 700 else []
    for node in ast.walk(ast.parse(text if name.suffix == ".py" else "")):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            found += [f"{name}:{node.lineno}: a function of {length} lines"] if length > 60 else []
    return found


def check(root: Path) -> tuple[int, list[str]]:
    files = files_below(root, FOLDERS, lambda path: path.suffix in SUFFIXES)
    return len(files), [error for file in files
                        for error in check_file(file.relative_to(root), file.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    sys.exit(run("size", check))
