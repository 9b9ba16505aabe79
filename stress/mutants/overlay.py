#!/usr/bin/env python3
"""Copies include/ and src/ into a build folder and inserts switches there, so that tests can break a rule at run time.

usage: overlay.py <folder of the copy>

Each table of *.toml is a rule: a sentence says what is broken, and edits say where. An edit names a file, the function
around it and a snippet, which must occur there exactly once, with any space or comment between its words. An edit has
one of

  replacement  what runs instead of the snippet while the rule is broken. A snippet that ends with ; or } is a
               statement, any other one an expression.
  before       statements that run before the snippet while the rule is broken
  insert       text that always precedes the snippet in the copy, e.g. a schedule point

The first edit is in the rule's own table, further ones are in [[rule.also]], where file and function may be omitted if
they are the same. A table of windows.toml has no sentence and is no rule: it only inserts.

Only insertions are made, between marks and without a line break. So they nest, lines keep their numbers, and a copy
without them equals the shipped file byte for byte. Beside the copy, mutations.hpp and rule_table.hpp list the rules.
"""
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from check_common import Outline, files_below, is_cpp, mask  # noqa: E402

FOLDERS = ["include", "src"]
BEGIN, END = "/*[*/", "/*]*/"
INSERTION = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END))
KINDS = {"replacement", "before", "insert"}
KEYS = {"file", "function", "snippet", "sentence", "also", "modelled"} | KINDS


class Fault(Exception):
    """An error in a rule; the message begins with the rule's name."""


@dataclass(frozen=True)
class Rule:
    name: str
    sentence: str
    group: str
    modelled: bool  # a scenario of the model checker passes it


@dataclass(frozen=True)
class Edit:
    rule: str
    file: str
    function: str
    snippet: str
    kind: str
    text: str


@dataclass(frozen=True)
class Insertion:
    """Text to insert on both sides of a part of a file."""

    rule: str
    start: int
    end: int
    front: str
    back: str


def edits_of(name: str, table: dict, is_rule: bool) -> list[Edit]:
    found = []
    for part in [table, *table.get("also", [])]:
        if unknown := set(part) - KEYS:
            raise Fault(f"{name}: unknown key {', '.join(sorted(unknown))}")
        kinds = KINDS & set(part)
        if len(kinds) != 1:
            raise Fault(f"{name}: an edit has one of {', '.join(sorted(KINDS))}")
        kind = kinds.pop()
        values = {key: part.get(key, table.get(key)) for key in ("file", "function", "snippet")}
        if values["file"] is None or not part.get("snippet"):
            raise Fault(f"{name}: an edit has a file and a snippet")
        if is_rule and not values["function"]:
            raise Fault(f"{name}: an edit names the function around its snippet")
        text = " ".join(part[kind].split())
        if "//" in text or BEGIN in text or END in text:
            raise Fault(f"{name}: a comment in what is inserted")
        if kind != "insert" and not is_rule:
            raise Fault(f"{name}: no sentence says what is broken")
        found.append(Edit(name, values["file"], values["function"] or "", part["snippet"], kind, text))
    return found


def read(folder: Path) -> tuple[list[Rule], list[Edit]]:
    rules: dict[str, Rule] = {}
    edits: list[Edit] = []
    for path in sorted(folder.glob("*.toml")):
        is_rule = path.stem != "windows"
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name in rules:
                raise Fault(f"{name}: in {rules[name].group}.toml and in {path.name}")
            if is_rule and not table.get("sentence"):
                raise Fault(f"{name}: no sentence says what is broken")
            if is_rule:
                rules[name] = Rule(name, table["sentence"], path.stem, table.get("modelled", True))
            edits += edits_of(name, table, is_rule)
    return list(rules.values()), edits


# ---- the copy -------------------------------------------------------------------------------------


def regions(outline: Outline, function: str) -> list[tuple[int, int]]:
    """Returns the heads and bodies of the functions of that name."""
    if not function:
        return [(0, len(outline.code))]
    name = re.compile(r"(?<![\w~])" + re.escape(function) + r"\s*\(")
    blocks = outline.functions()
    return [(b.head, b.close) for b in blocks if name.search(outline.code[b.head : b.open])]


def pattern(snippet: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(word) for word in snippet.split())
    first, last = snippet.strip()[0], snippet.strip()[-1]
    is_word = re.compile(r"\w").match
    return re.compile((r"(?<!\w)" if is_word(first) else "") + words + (r"(?!\w)" if is_word(last) else ""))


def insertion(edit: Edit, outline: Outline, code: str) -> Insertion:
    places = regions(outline, edit.function)
    if not places:
        raise Fault(f"{edit.rule}: no function {edit.function} in {edit.file}")
    wanted = pattern(edit.snippet)
    found = {m.span() for start, end in places for m in wanted.finditer(code, start, end + 1)}
    if len(found) != 1:
        where = f"{edit.file}, {edit.function or 'all of it'}"
        raise Fault(f"{edit.rule}: its snippet occurs {len(found)} times in {where}: {edit.snippet.strip()}")
    [(start, end)] = found
    broken = f"::lido::detail::broken(::lido::detail::mutation::{edit.rule})"
    if edit.kind == "insert":
        return Insertion(edit.rule, start, end, edit.text + " ", "")
    if edit.kind == "before":
        return Insertion(edit.rule, start, end, f"if ({broken}) {{ {edit.text} }} ", "")
    if edit.snippet.strip()[-1] in ";}":
        return Insertion(edit.rule, start, end, f"if ({broken}) {{ {edit.text} }} else {{ ", " }")
    return Insertion(edit.rule, start, end, f"({broken} ? ({edit.text}) : (", "))")


def require_nesting(insertions: list[Insertion]) -> None:
    for i, a in enumerate(insertions):
        for b in insertions[:i]:
            if a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end:
                raise Fault(f"{a.rule}: its snippet and that of {b.rule} overlap")


def mutated(text: str, edits: list[Edit]) -> str:
    """Returns the text with the switches of all edits."""
    if BEGIN in text or END in text:
        raise Fault(f"{edits[0].rule if edits else 'the copy'}: a mark of insertions in the shipped file")
    outline, code = Outline(text), mask(text, strings=False)
    insertions = [insertion(edit, outline, code) for edit in edits]
    require_nesting(insertions)
    # At one offset: ends before beginnings, inner ends first, outer beginnings first; of equal parts the first is outside.
    marks = [(one.end, 0, -one.start, -i, one.back) for i, one in enumerate(insertions)]
    marks += [(one.start, 1, -one.end, i, one.front) for i, one in enumerate(insertions)]
    parts, at = [], 0
    for place, _, _, _, inserted in sorted(marks):
        parts += [text[at:place], BEGIN + inserted + END if inserted else ""]
        at = place
    return "".join([*parts, text[at:]])


def stripped(text: str) -> str:
    return INSERTION.sub("", text)


def write(path: Path, text: str) -> None:
    """Writes only what has changed, so that nothing else is compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def sources(root: Path) -> list[Path]:
    return sorted(p.relative_to(root) for p in files_below(root, FOLDERS, is_cpp))


def copy(root: Path, out: Path, edits: list[Edit]) -> None:
    files = sources(root)
    by_file: dict[str, list[Edit]] = {file.as_posix(): [] for file in files}
    for edit in edits:
        if edit.file not in by_file:
            raise Fault(f"{edit.rule}: no file {edit.file}")
        by_file[edit.file].append(edit)
    for name, some in by_file.items():
        text = (root / name).read_text(encoding="utf-8")
        changed = mutated(text, some) if some else text
        assert stripped(changed) == text
        write(out / name, changed)
    for old in sources(out):
        if old.as_posix() not in by_file:
            (out / old).unlink()


def list_rules(out: Path, rules: list[Rule]) -> None:
    head = "// Written by overlay.py.\n#pragma once\n"
    names = "".join(f"  {rule.name},\n" for rule in rules)
    write(out / "mutations.hpp", f"{head}namespace lido::inline v0::detail {{\nenum class mutation {{\n  none,\n{names}}};\n}}\n")
    rows = "".join(
        f'  named_rule{{mutation::{rule.name}, "{rule.name}", "{rule.sentence}", {str(rule.modelled).lower()}}},\n'
        for rule in rules
    )
    write(out / "rule_table.hpp", f"// Written by overlay.py.\ninline constexpr std::array rule_table{{\n{rows}}};\n")


def main() -> int:
    out = Path(sys.argv[1])
    try:
        rules, edits = read(Path(__file__).resolve().parent)
        copy(ROOT, out, edits)
        list_rules(out, rules)
    except Fault as fault:
        print(f"overlay: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
