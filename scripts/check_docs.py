#!/usr/bin/env python3
"""What the documents say is there and is so: samples, links, the tree of ARCHITECTURE.md.

 * A ```cpp block below `<!-- snippet: examples/first_pool.cpp -->` equals the lines between
   `// [snippet]` and `// [/snippet]` of that file.
 * Relative links lead to a file of the repository, and their anchor to a heading.
 * Files named in ARCHITECTURE.md exist; its tree has every header and every script.
 * No text names a place that only one machine has.
 * Tests named in a document as `Suite.Test` exist (docs/verification.md is of the commit it names).
 * docs/plain_stress.json knows each rule of stress/model/mutants/rules.cpp, and no other.
"""
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from check_common import files_below, line_of, run

MARKER = re.compile(r"^<!--\s*snippet:\s*(\S+)\s*-->[ \t]*\n(?:[ \t]*\n)*(?:```cpp[ \t]*\n(.*?)^```[ \t]*$)?", re.S | re.M)
REGION = re.compile(r"^[ \t]*// \[snippet\][ \t]*\n(.*?)^[ \t]*// \[/snippet\]", re.S | re.M)
FENCE = re.compile(r"^(?P<mark>```+|~~~+)(?P<language>[^\n]*)\n(?P<body>.*?)^(?P=mark)[ \t]*$", re.S | re.M)
LINK = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?", re.M)
CODE_SPAN = re.compile(r"`[^`\n]+`")
NAMED_TEST = re.compile(r"`([A-Z]\w+\.[A-Z]\w+)`")
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
PATH = re.compile(r"^(?:[\w.-]+/)*(?:[\w.-]+/|[\w-]+\.(?:hpp|cpp|py|sh|md|txt|json|cmake|yml|in)|\.[\w-]+)$")
FILE_NAME = re.compile(r"\.(hpp|cpp|py|sh|md|txt|json|cmake|yml|in)$")
BRANCHES = re.compile(r"^[\s│├└─|`+\\-]*")
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


def snippet_of(file: Path) -> str | None:
    regions = REGION.findall(file.read_text(encoding="utf-8"))
    return textwrap.dedent(regions[0]).strip("\n") if len(regions) == 1 else None


def check_snippets(root: Path, file: Path, text: str) -> list[str]:
    errors = []
    for match in MARKER.finditer(text):
        where = f"{file.relative_to(root)}:{line_of(text, match.start())}"
        source = root / match[1]
        if match[2] is None:
            errors.append(f"{where}: no ```cpp block below the snippet marker")
        elif not source.is_file():
            errors.append(f"{where}: {match[1]} does not exist")
        elif (wanted := snippet_of(source)) is None:
            errors.append(f"{where}: {match[1]} does not have exactly one // [snippet] ... // [/snippet]")
        elif match[2].strip("\n") != wanted:
            errors.append(f"{where}: the block differs from the snippet in {match[1]}")
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
    for match in [*LINK.finditer(clean), *DEFINITION.finditer(clean)]:
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


def expand(name: str) -> Iterator[str]:
    """`a/{b,c}.hpp` names two files."""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        yield name
        return
    for part in match[1].split(","):
        yield from expand(name[: match.start()] + part.strip() + name[match.end() :])


def tree_paths(body: str) -> list[str]:
    """The paths of a drawn or indented tree: a name below `folder/` lies in it."""
    found: list[str] = []
    folders: list[tuple[int, str]] = []
    for line in body.split("\n"):
        indent = len(BRANCHES.match(line)[0])  # type: ignore[index]
        words = re.split(r"\s+", line[indent:].strip())
        names = [words[0]] if words[0] else []
        if not names or not all(PATH.match(path) for path in expand(names[0])):
            continue
        while folders and folders[-1][0] >= indent:
            folders.pop()
        above = folders[-1][1] if folders else ""
        found += [above + path for path in expand(names[0])]
        if names[0].endswith("/"):
            folders.append((indent, above + names[0]))
    return found


def is_tree(match: re.Match[str]) -> bool:
    first = BRANCHES.sub("", match["body"].lstrip("\n").split("\n")[0]).split(" ")[0]
    return match["language"].strip() in ("", "text", "tree") and bool(PATH.match(first))


def check_tree(root: Path) -> list[str]:
    file = root / "ARCHITECTURE.md"
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    named = [path for fence in FENCE.finditer(text) if is_tree(fence) for path in tree_paths(fence["body"])]
    errors = [f"ARCHITECTURE.md: the tree names {n}, which does not exist" for n in named if not (root / n).exists()]
    if named:
        listed = files_below(root, ["include", "scripts"], lambda path: path.suffix in {".hpp", ".py", ".sh"})
        missing = {path.relative_to(root).as_posix() for path in listed} - set(named)
        errors += [f"ARCHITECTURE.md: the tree lacks {name}" for name in sorted(missing)]
    for span in CODE_SPAN.findall(FENCE.sub("", text)):
        for name in expand(span.strip("`")):
            if not (PATH.match(name) and FILE_NAME.search(name)) or any((root / b / name).exists() for b in BASES):
                continue
            if "/" in name or not files_below(root, ["."], lambda path, name=name: path.name == name):
                errors.append(f"ARCHITECTURE.md: {name} does not exist")
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


def check_tests(root: Path, documents: list[Path]) -> list[str]:
    sources = files_below(root, ["tests"], lambda path: path.suffix == ".cpp")
    known = {f"{suite}.{name}" for file in sources for suite, name in TEST.findall(file.read_text(encoding="utf-8"))}
    errors = []
    for file in documents:
        if file == root / "docs/verification.md":
            continue
        text = file.read_text(encoding="utf-8")
        errors += [f"{file.relative_to(root)}:{line_of(text, match.start())}: there is no test {match[1]}"
                   for match in NAMED_TEST.finditer(text) if match[1] not in known]
    return errors


def check_rules(root: Path) -> list[str]:
    found, rules = root / "docs/plain_stress.json", root / "stress/model/mutants/rules.cpp"
    if not found.exists():
        return []
    wanted = set(re.findall(r"\brule\{mutation::(\w+)", rules.read_text(encoding="utf-8")))
    tried = set(json.loads(found.read_text(encoding="utf-8"))["rules"])
    return ([f"docs/plain_stress.json: {rule} is not in it; scripts/stress_mutants.py writes it"
             for rule in sorted(wanted - tried)]
            + [f"docs/plain_stress.json: there is no rule {rule}" for rule in sorted(tried - wanted)])


def check(root: Path) -> tuple[int, list[str]]:
    documents = markdown(root)
    errors = check_tree(root) + check_rules(root) + check_tests(root, documents)
    for file in documents:
        text = file.read_text(encoding="utf-8")
        errors += check_snippets(root, file, text) + check_links(root, file, text)
    for file in files_below(root, ["."], lambda path: path.suffix in TEXT_SUFFIXES):
        errors += check_words(root, file)
    return len(documents), errors


if __name__ == "__main__":
    sys.exit(run("docs", check))
