#!/usr/bin/env python3
"""What the documents say is there and is so: samples, links, files, tests.

 * A ```cpp or ```c block below `<!-- snippet: examples/first_pool.cpp -->` equals the lines between
   `// [snippet]` and `// [/snippet]` of that file; one below `<!-- snippet: examples/first_pool.cpp use -->`
   those behind `// [snippet use]`. The page has a link to the file.
 * Relative links and pictures lead to a file of the repository, and an anchor to a heading.
 * Files named in a document exist.
 * Tests are named in docs/reference/tests.md alone, and each one named there exists.
 * Programs in README.md have at most 15 lines.
 * No text names a place that only one machine has.
"""
import re
import sys
import textwrap
from pathlib import Path

from check_common import files_below, line_of, run

MOST_LINES_OF_PROGRAM = 15

MARKER = re.compile(r"^<!--\s*snippet:\s*(\S+)(?:[ \t]+(\w+))?\s*-->[ \t]*\n(?:[ \t]*\n)*(?:```c(?:pp)?[ \t]*\n(.*?)^```[ \t]*$)?",
                    re.S | re.M)
REGION = re.compile(r"^[ \t]*// \[snippet(?: (\w+))?\][ \t]*\n(.*?)^[ \t]*// \[/snippet\]", re.S | re.M)
FENCE = re.compile(r"^(?P<mark>```+|~~~+)(?P<language>[^\n]*)\n(?P<body>.*?)^(?P=mark)[ \t]*$", re.S | re.M)
LINK = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?", re.M)
CODE_SPAN = re.compile(r"`[^`\n]+`")
PICTURE = re.compile(r"""<(?:img|source)\b[^>]*\bsrc(?:set)?=["']([^"'\s]+)""")
PROGRAM = re.compile(r"^```cpp program\n(.*?)^```$", re.S | re.M)
TESTS_PAGE = "docs/reference/tests.md"
NAMED_TEST = re.compile(r"`([A-Z]\w+\.(?:[A-Z]\w+|\*))`|`([a-z]\w*(?:\.[a-z]\w*)+(?:\.\*)?|[a-z]\w*\.\*)`")
KIND_OF_TEST = re.compile(r"^(?:stress|fault|mutant|chaos|disassembly|compile_fail|package)\.")
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)|\bINSTANTIATE\w*\(\s*(\w+),\s*(\w+)")
PATH = re.compile(r"^(?:[\w.-]+/)*(?:[\w.-]+/|[\w-]+\.(?:hpp|cpp|py|sh|md|txt|json|cmake|yml|in)|\.[\w-]+)$")
FILE_NAME = re.compile(r"\.(hpp|cpp|py|sh|md|txt|json|cmake|yml|in)$")
OURS = re.compile(r"^(?:include|src|tests|stress|bench|examples|scripts|cmake|docs)/")
# Where a short name like `freelist/treiber_stack.hpp` may start.
BASES = ["", "include", "include/lido", "src"]
TEXT_SUFFIXES = {".md", ".hpp", ".cpp", ".py", ".sh", ".cmake", ".txt", ".json", ".in", ".yml", ".yaml", ".cfg", ""}
FOREIGN = [
    (re.compile(r"(?<![\w.:/}-])/(?:work|root|home/\w+|Users/\w+)/"), "a path of one machine"),
    (re.compile(r"\b(?:pypi|pythonhosted|npmjs|crates)\.(?:org|io)\b|\bregistry\.[\w-]+\.\w+|\bproxy\.golang\.org\b"), "a registry host"),
    (re.compile(r"\b(?:ghcr|quay|docker)\.io\b|\b(?:artifactory|nexus)\.[\w-]+\.\w+|\bdeb\.debian\.org\b"), "a registry host"),
]


def markdown(root: Path) -> list[Path]:
    return files_below(root, ["."], lambda path: path.suffix == ".md")


def snippet_of(file: Path, name: str) -> str | None:
    regions = [lines for named, lines in REGION.findall(file.read_text(encoding="utf-8")) if named == name]
    return textwrap.dedent(regions[0]).strip("\n") if len(regions) == 1 else None


def check_snippets(root: Path, file: Path, text: str) -> list[str]:
    errors = []
    for match in MARKER.finditer(text):
        where = f"{file.relative_to(root)}:{line_of(text, match.start())}"
        source, name = root / match[1], match[2] or ""
        if match[3] is None:
            errors.append(f"{where}: no ```cpp or ```c block below the snippet marker")
        elif not source.is_file():
            errors.append(f"{where}: {match[1]} does not exist")
        elif (wanted := snippet_of(source, name)) is None:
            begin = f"snippet {name}".strip()
            errors.append(f"{where}: {match[1]} does not have exactly one // [{begin}] ... // [/snippet]")
        elif match[3].strip("\n") != wanted:
            errors.append(f"{where}: the block differs from the snippet in {match[1]}")
    linked = {(file.parent / link).resolve() for link in LINK.findall(text)}
    for name in sorted({match[1] for match in MARKER.finditer(text)}):
        if (root / name).resolve() not in linked:
            errors.append(f"{file.relative_to(root)}: no link to {name}, which has a snippet here")
    return errors


def prose(text: str) -> str:
    """The text without code, lines kept."""
    text = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return CODE_SPAN.sub(lambda match: " " * len(match[0]), text)


def anchors(file: Path) -> set[str]:
    """The anchors that headings get on common forges."""
    fenceless = FENCE.sub("", file.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+\s+(.*?)\s*#*\s*$", fenceless, re.M)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return set(slugs) | set(re.findall(r'<a\s+(?:id|name)="([^"]+)"', fenceless))


def check_links(root: Path, file: Path, text: str) -> list[str]:
    errors = []
    clean = prose(text)
    for match in [*LINK.finditer(clean), *DEFINITION.finditer(clean), *PICTURE.finditer(clean)]:
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        where = f"{file.relative_to(root)}:{line_of(clean, match.start())}"
        path = (root / target[1:] if target.startswith("/") else file.parent / target).resolve() if target else file
        if not path.exists() or not path.is_relative_to(root):
            errors.append(f"{where}: dead link {match[1]}")
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            errors.append(f"{where}: no heading for {match[1]}")
    return errors


def check_files(root: Path, file: Path, text: str) -> list[str]:
    """Files named in code spans: any in ARCHITECTURE.md, elsewhere those that begin with a folder of ours."""
    errors = []
    is_map = file == root / "ARCHITECTURE.md"
    for span in CODE_SPAN.finditer(FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)):
        name = span[0].strip("`")
        if not (PATH.match(name) and (FILE_NAME.search(name) or name.endswith("/")) and (is_map or OURS.match(name))):
            continue
        if any((root / base / name).exists() for base in BASES):
            continue
        if "/" in name or not files_below(root, ["."], lambda path, name=name: path.name == name):
            errors.append(f"{file.relative_to(root)}:{line_of(text, span.start())}: {name} does not exist")
    return errors


def check_words(root: Path, file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    errors = []
    for pattern, what in FOREIGN:
        for match in pattern.finditer(text):
            errors.append(f"{file.relative_to(root)}:{line_of(text, match.start())}: {match[0]} is {what}")
    return errors


SOURCES = {".cpp", ".hpp", ".cmake", ".txt", ".toml", ".py"}


class Tests:
    """What there is to be named: unit tests, and words for drivers, scenarios and rules, which are made up of them."""

    def __init__(self, root: Path) -> None:
        self.units: set[str] = set()
        self.words: set[str] = set()
        for file in files_below(root, ["tests", "stress", "bench"], lambda path: path.suffix in SOURCES):
            text = file.read_text(encoding="utf-8")
            for match in TEST.finditer(text):
                suite, name = match[1] or match[4], match[2] or "*"
                self.units |= {f"{suite}.{name}", f"{suite}.*"}
            self.words |= {file.stem, *re.findall(r"\w+", text)}
        self.root = root

    def has(self, name: str) -> bool:
        kind, *words = name.removesuffix(".*").split(".")
        if name[0].isupper():
            return name in self.units
        if kind == "stress":
            return (self.root / "stress" / "/".join(words[:2])).with_suffix(".cpp").exists()
        if kind == "compile_fail":
            return (self.root / "tests" / kind / f"{words[0]}.cpp").exists()
        return all(word in self.words for word in [kind, *words])


def check_tests(root: Path, file: Path, text: str, tests: Tests) -> list[str]:
    errors = []
    here = file.relative_to(root).as_posix()
    for match in NAMED_TEST.finditer(FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)):
        name = match[1] or match[2]
        where = f"{here}:{line_of(text, match.start())}"
        if here != TESTS_PAGE:
            if name in tests.units or KIND_OF_TEST.match(name):
                errors.append(f"{where}: {name} is a test; name it in {TESTS_PAGE}")
        elif not FILE_NAME.search(name) and not tests.has(name):
            errors.append(f"{where}: there is no test {name}")
    return errors


def check_programs(root: Path) -> list[str]:
    errors = []
    readme = root / "README.md"
    if readme.exists():
        text = readme.read_text(encoding="utf-8")
        for match in PROGRAM.finditer(text):
            if (lines := match[1].count("\n")) > MOST_LINES_OF_PROGRAM:
                errors.append(f"README.md:{line_of(text, match.start())}: a program of {lines} lines")
    return errors


def check(root: Path) -> tuple[int, list[str]]:
    documents = markdown(root)
    tests = Tests(root)
    errors = check_programs(root)
    for file in documents:
        text = file.read_text(encoding="utf-8")
        errors += check_snippets(root, file, text) + check_links(root, file, text)
        errors += check_files(root, file, text) + check_tests(root, file, text, tests)
    for file in files_below(root, ["."], lambda path: path.suffix in TEXT_SUFFIXES):
        errors += check_words(root, file)
    return len(documents), errors


if __name__ == "__main__":
    sys.exit(run("docs", check))
