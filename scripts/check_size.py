#!/usr/bin/env python3
"""No source file above 700 lines and no function above 60: what is longer has a second subject."""
import ast
import sys
from pathlib import Path

from check_common import Outline, files_below, is_cpp, line_of, run

FILE_LIMIT = 700
FUNCTION_LIMIT = 60
FOLDERS = ["include", "src", "tests", "stress", "bench", "examples", "scripts", "cmake"]
SUFFIXES = {".hpp", ".cpp", ".h", ".ipp", ".py", ".sh", ".cmake", ".in"}


def is_source(path: Path) -> bool:
    return path.suffix in SUFFIXES or path.name == "CMakeLists.txt"


def cpp_functions(text: str) -> list[tuple[int, int]]:
    """First line and length of each function, from its signature to its closing brace."""
    spans = [(line_of(text, b.head), line_of(text, b.close)) for b in Outline(text).functions() if b.close >= 0]
    return [(first, last - first + 1) for first, last in spans]


def python_functions(text: str) -> list[tuple[int, int]]:
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(n.lineno, (n.end_lineno or n.lineno) - n.lineno + 1) for n in nodes]


def functions(path: Path, text: str) -> list[tuple[int, int]]:
    if is_cpp(path):
        return cpp_functions(text)
    return python_functions(text) if path.suffix == ".py" else []


def check_file(root: Path, path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(root)
    errors = []
    if (lines := len(text.splitlines())) > FILE_LIMIT:
        errors.append(f"{name}: {lines} lines (limit {FILE_LIMIT})")
    for first, length in functions(path, text):
        if length > FUNCTION_LIMIT:
            errors.append(f"{name}:{first}: a function of {length} lines (limit {FUNCTION_LIMIT})")
    return errors


def check(root: Path) -> tuple[int, list[str]]:
    files = files_below(root, FOLDERS, is_source)
    return len(files), [error for file in files for error in check_file(root, file)]


if __name__ == "__main__":
    sys.exit(run("size", check))
