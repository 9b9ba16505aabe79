#!/usr/bin/env python3
"""A layer includes only itself and the layers below it. LAYERS is the one list that says the order."""
import re
import sys
from pathlib import Path

from check_common import files_below, is_cpp, line_of, mask, run

LAYERS = [
    "platform",
    "base",
    "concurrency",
    "freelist",
    "allocator",
    "debug",
    "object",
    "slot_map",
    "resource",
    "connect",
    "pmr",
    "c",
    "telemetry",
    "testing",
]
HEADERS = Path("include/lido")
SOURCES = Path("src")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
SYSTEM = re.compile(
    r"(?:sys|linux|net|netinet|arpa|mach|machine)/.+"
    r"|(?:dlfcn|elf|execinfo|fcntl|link|netdb|poll|pthread|sched|semaphore|signal|spawn|unistd|windows)\.h")
THROW = re.compile(r"\bthrow\b(?!\s*;)")
THROWS = Path("include/lido/base/fail.hpp")
INTEGRATIONS = ["connect"]  # they know a library, and with it the system and exceptions
ENTRY = "entry"  # the public headers directly in include/lido: above every layer
VERSION = HEADERS / "version.hpp"  # the entry that includes nothing, and that every layer may


def layer_of(path: Path) -> str:
    """The layer of a path relative to the root: a folder's name, ENTRY, or '' outside."""
    for base in (HEADERS, SOURCES):
        if path.is_relative_to(base):
            inner = path.relative_to(base).parts
            return inner[0] if len(inner) > 1 else ENTRY
    return ""


def included(root: Path, file: Path) -> list[tuple[int, Path]]:
    """Line and path (relative to the root) of each include that stays inside the project."""
    text = mask((root / file).read_text(encoding="utf-8"), strings=False)
    found = []
    for match in INCLUDE.finditer(text):
        if match[2].startswith("lido/"):
            target = root / "include" / match[2]
        elif match[1] == '"':
            target = root / file.parent / match[2]
        else:
            continue
        target = target.resolve()
        if target.is_relative_to(root):
            found.append((line_of(text, match.start()), target.relative_to(root)))
    return found


def check_folders(root: Path) -> list[str]:
    errors = []
    for base in (HEADERS, SOURCES):
        for child in sorted((root / base).glob("*")):
            if child.is_dir() and child.name not in LAYERS:
                errors.append(f"{base / child.name}: unknown layer; LAYERS in scripts/check_layers.py lists them")
    for file in sorted((root / SOURCES).glob("*.?pp")):
        errors.append(f"{file.relative_to(root)}: a source file belongs in the folder of its layer")
    return errors


def check_includes(root: Path, file: Path) -> list[str]:
    own = layer_of(file)
    if own not in LAYERS:
        return []
    errors = []
    for line, target in included(root, file):
        other = layer_of(target)
        if target == VERSION:
            continue
        if other == ENTRY:
            errors.append(f"{file}:{line}: {own}/ must not include the public entry {target.name}")
        elif other in LAYERS and LAYERS.index(other) > LAYERS.index(own):
            errors.append(f"{file}:{line}: {own}/ must not include {other}/{target.name}, a higher layer")
        elif other not in LAYERS:
            errors.append(f"{file}:{line}: {target} is in no layer")
    return errors


def check_system(root: Path, file: Path) -> list[str]:
    """One folder knows the system, and one header throws."""
    text = mask((root / file).read_text(encoding="utf-8"), strings=False)
    errors = []
    if not file.is_relative_to(SOURCES / LAYERS[0]) and layer_of(file) not in INTEGRATIONS:
        errors += [f"{file}:{line_of(text, match.start())}: only src/{LAYERS[0]}/ includes <{match[2]}> of the system"
                   for match in INCLUDE.finditer(text) if SYSTEM.fullmatch(match[2])]
    if file != THROWS and layer_of(file) not in INTEGRATIONS:
        code = mask(text)
        errors += [f"{file}:{line_of(code, match.start())}: only {THROWS} throws"
                   for match in THROW.finditer(code)]
    return errors


def check_entry(root: Path, file: Path) -> list[str]:
    """An entry is a signpost: a user who opens it sees includes and nothing else."""
    text = mask((root / file).read_text(encoding="utf-8"))
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            return [f"{file}:{number}: a public entry holds includes only; code lives in a layer"]
    return []


def find_cycle(graph: dict[Path, list[Path]]) -> list[Path]:
    """One ring of includes, or nothing."""
    done: set[Path] = set()

    def visit(node: Path, trail: list[Path]) -> list[Path]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return []
        for target in graph.get(node, []):
            if ring := visit(target, [*trail, node]):
                return ring
        done.add(node)
        return []

    return next((ring for node in graph if (ring := visit(node, []))), [])


def table_rows(text: str) -> list[str]:
    """First cells of the table whose first column is headed 'layer'."""
    rows: list[str] = []
    inside = False
    for line in text.split("\n"):
        cell = line.split("|")[1].strip(" `*/") if line.startswith("|") and line.count("|") > 1 else None
        if cell is None:
            inside = False
        elif cell.lower() == "layer":
            inside = True
        elif inside and not re.fullmatch(r":?-+:?", cell):
            rows.append(cell)
    return rows


def check_architecture(root: Path) -> list[str]:
    file = root / "ARCHITECTURE.md"
    if not file.exists():
        return []
    rows = table_rows(file.read_text(encoding="utf-8"))
    if not rows:
        return ["ARCHITECTURE.md: no table with a first column 'Layer'"]
    errors = [f"ARCHITECTURE.md: unknown layer {row}" for row in rows if row not in LAYERS]
    known = [row for row in rows if row in LAYERS]
    if known != [name for name in LAYERS if name in known]:
        errors.append(f"ARCHITECTURE.md: the layer table says {', '.join(known)}; the order is {', '.join(LAYERS)}")
    built = [name for name in LAYERS if (root / HEADERS / name).is_dir() or (root / SOURCES / name).is_dir()]
    errors += [f"ARCHITECTURE.md: the layer table lacks {name}" for name in built if name not in known]
    return errors


def check_installed(root: Path, files: list[Path]) -> list[str]:
    """What is not in the list of headers is missing from an installed library."""
    listed = (root / SOURCES / "CMakeLists.txt").read_text(encoding="utf-8")
    return [f"src/CMakeLists.txt: {file} is in no list of headers"
            for file in files if file.is_relative_to(HEADERS) and f"/{file}" not in listed]


def check(root: Path) -> tuple[int, list[str]]:
    files = [f.relative_to(root) for f in files_below(root, ["include", "src"], is_cpp)]
    errors = check_folders(root) + check_architecture(root) + check_installed(root, files)
    for file in files:
        errors += check_includes(root, file) + check_system(root, file)
        if layer_of(file) == ENTRY and file.is_relative_to(HEADERS):
            errors += check_entry(root, file)
    ring = find_cycle({file: [target for _, target in included(root, file)] for file in files})
    if ring:
        errors.append("includes form a ring: " + " -> ".join(str(file) for file in ring))
    return len(files), errors


if __name__ == "__main__":
    sys.exit(run("layers", check))
