#!/usr/bin/env python3
"""Every memory order in include/ and src/ is written out and carries its reason.

acquire, release, acq_rel and seq_cst have a numbered note directly above the statement:

    // (n) - this <order>-<operation> synchronizes-with the <order>-<operation> (m, k)

Its partners name it back ("depot.hpp (m)" in another file; for seq_cst also "is in one total order
with (m)"). Numbers ascend in source order. A header and the source of the same name and layer
share them. An access that is relaxed has "// relaxed: why" above the statement or the loop. Two in
a row have "// relaxed (2x): why", and a function has "// relaxed (whole function): why" above it.

A call of full_fence is a seq_cst-fence.
Only concurrency/atomic.hpp includes <atomic>; everything else takes its names from there, but
src/platform, which is below it and no part of the models.
"""
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from check_atomics_notes import COMMENT, ORDERS, Note, NoteBook, read_notes, references
from check_common import Block, Outline, files_below, is_cpp, line_of, run

SEAM = Path("include/lido/concurrency/atomic.hpp")
BELOW_SEAM = Path("src/platform")
# Operation: its word in notes, and how many arguments it has when the order is left to default.
OPERATIONS = {
    "load": ("load", {0}),
    "store": ("store", {1}),
    "exchange": ("exchange", {1}),
    "compare_exchange_weak": ("CAS", {2, 3}),
    "compare_exchange_strong": ("CAS", {2, 3}),
    "fetch_add": ("fetch-add", {1}),
    "fetch_sub": ("fetch-sub", {1}),
    "fetch_and": ("fetch-and", {1}),
    "fetch_or": ("fetch-or", {1}),
    "fetch_xor": ("fetch-xor", {1}),
    "test_and_set": ("test-and-set", {0}),
    "atomic_thread_fence": ("fence", {0}),
    "atomic_signal_fence": ("fence", {0}),
}
# Functions of the library that are an ordered operation, whatever file they stand in.
ORDERED_CALLS = {"full_fence": ("fence", "seq_cst")}
WORDS = {word.lower() for word, _ in OPERATIONS.values()} - {"fence"}
CALL = re.compile(r"(?:(?:\.|->)\s*(?:template\s+)?|(?=atomic_))\b(" + "|".join(OPERATIONS) + r")\s*\(")
ORDERED_CALL = re.compile(r"(?<!\bvoid )\b(" + "|".join(ORDERED_CALLS) + r")\s*\(")  # not where it is declared
ANY_ORDER = ORDERS + ("relaxed", "consume")
SPELLED = re.compile(r"\bmemory_order(?:_|\s*::\s*)(" + "|".join(ANY_ORDER) + r")\b")
SHORT = re.compile(r"(?:^|[\s(,:?])(" + "|".join(ANY_ORDER) + r")\s*(?=$|[,):?])")
PASSED_ON = re.compile(r"\b\w*order\w*\b")
NOT_AN_ACCESS = re.compile(r"^(using\b|case\b|(inline\s+|static\s+)*constexpr\b[^(]*=|enum\b)")
RELAXED = re.compile(r"\brelaxed\b(?! \(whole function\))(?: \((\d+)x\)| \([^)]*\)|[\w ,-]{0,40})?:\s*\S")
WHOLE_FUNCTION = re.compile(r"\brelaxed \(whole function\):\s*\S")
RAW = re.compile(r"\bstd\s*::\s*atomic(_ref|_flag|_thread_fence|_signal_fence)?\b(?!\s*_)|\b__(atomic|sync)_\w+")
ATOMIC_NAME = re.compile(r"\batomic\s*<[^;{}()]*>\s+(\w+)\s*(?=[;{=])")


@dataclass
class Access:
    """One place that names a memory order."""

    offset: int
    orders: list[str]
    operation: str  # the word notes use; '' when it is not an operation we know


@dataclass
class Statement:
    first: int  # rows, counted from 0
    last: int
    block: Block | None
    accesses: list[Access] = field(default_factory=list)


def arguments(code: str, opening: int) -> tuple[list[str], int]:
    """The top-level arguments of a call, and the offset behind its closing bracket."""
    depth, start, found = 0, opening + 1, []
    for at in range(opening, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                found.append(code[start:at])
                return [a.strip() for a in found if a.strip()], at + 1
        elif code[at] == "," and depth == 1:
            found.append(code[start:at])
            start = at + 1
    return [], len(code)


def orders_in(argument: str) -> list[str]:
    spelled = SPELLED.findall(argument)
    return spelled or SHORT.findall(argument)


class Source:
    """One file: its lines, its outline and its accesses by statement."""

    def __init__(self, root: Path, file: Path) -> None:
        self.file = file
        text = (root / file).read_text(encoding="utf-8")
        self.lines = text.split("\n")
        self.outline = Outline(text)
        self.code = self.outline.code
        self.notes = read_notes(file, self.lines)
        self.errors: list[str] = []
        for offset in self.outline.misread[:1]:
            self.error(offset, "the checker takes the braces around this for an initializer; it would miss accesses")
        self.statements = self._statements(self._accesses())

    def error(self, offset: int, what: str) -> None:
        self.errors.append(f"{self.file}:{line_of(self.code, offset)}: {what}")

    def _accesses(self) -> list[Access]:
        found, ends = [], [0]
        for call in CALL.finditer(self.code):
            values, end = arguments(self.code, call.end() - 1)
            word, defaulted = OPERATIONS[call[1]]
            orders = [order for value in values for order in orders_in(value)]
            passed_on = any(PASSED_ON.search(value) for value in values)
            if len(values) in defaulted and (not passed_on or len(values) == 3):
                self.error(call.start(1), f"{call[1]} with a defaulted memory order")
            if orders:
                found.append(Access(call.start(1), orders, word))
                ends.append(end)
        for call in ORDERED_CALL.finditer(self.code):
            word, order = ORDERED_CALLS[call[1]]
            found.append(Access(call.start(), [order], word))
            ends.append(call.end())
        known = [(a.offset, end) for a, end in zip(found, ends[1:])]
        for match in SPELLED.finditer(self.code):
            if not any(start <= match.start() < end for start, end in known) and self._is_access(match):
                found.append(Access(match.start(), [match[1]], ""))
        return sorted(found, key=lambda access: access.offset)

    def _is_access(self, match: re.Match[str]) -> bool:
        start, _ = self.outline.statement(match.start())
        before = self.code[start : match.start()]
        return not NOT_AN_ACCESS.match(before) and not re.search(r"[!=]=\s*(std\s*::\s*)?$", before)

    def _statements(self, accesses: list[Access]) -> list[Statement]:
        found: dict[int, Statement] = {}
        for access in accesses:
            start, block = self.outline.statement(access.offset)
            row = line_of(self.code, access.offset) - 1
            statement = found.setdefault(start, Statement(line_of(self.code, start) - 1, row, block))
            statement.last = max(statement.last, row)
            statement.accesses.append(access)
        return list(found.values())

    def top_of_comment(self, row: int) -> int:
        """First row of the comment lines directly above a row."""
        while row > 0 and COMMENT.match(self.lines[row - 1]):
            row -= 1
        return row

    def comment(self, first: int, last: int) -> str:
        """The comment above row `first`, and the comment lines down to row `last`."""
        matches = (COMMENT.match(line) for line in self.lines[self.top_of_comment(first) : last + 1])
        return " ".join(match[1] for match in matches if match)

    def notes_of(self, statement: Statement) -> list[Note]:
        top = self.top_of_comment(statement.first)
        return [note for note in self.notes if top <= note.line - 1 <= statement.last]


def covers(order: str, named: set[str]) -> bool:
    if order == "seq_cst":
        return "seq_cst" in named
    if order == "acq_rel":
        return "acq_rel" in named or {"acquire", "release"} <= named
    return order in named or "acq_rel" in named


def justified(note: Note, access: Access) -> bool:
    """Returns whether the note speaks of this access: its operation and one of its orders."""
    said = note.operation.lower().replace("_", "-")
    if access.operation and said != access.operation.lower():
        return False
    allowed = set(access.orders)
    if "acq_rel" in allowed:
        allowed |= {"acquire", "release"}
    return note.order in allowed


def check_strong(source: Source, statement: Statement) -> None:
    strong = [a for a in statement.accesses if set(a.orders) & set(ORDERS)]
    notes = source.notes_of(statement)
    for access in strong:
        mine = [note for note in notes if justified(note, access)]
        for note in mine:
            note.used = True
        named = {note.order for note in mine}
        lacking = [order for order in access.orders if order in ORDERS and not covers(order, named)]
        if lacking:
            word = access.operation or "operation"
            source.error(access.offset, f"no note '(n) - this {lacking[0]}-{word} ...' directly above the statement")
    if notes and len(notes) < len(strong) and all(note.used for note in notes):
        source.error(strong[-1].offset, f"{len(strong)} ordered operations in one statement, {len(notes)} notes")


def check_relaxed(source: Source, statement: Statement) -> None:
    relaxed = [a for a in statement.accesses if "relaxed" in a.orders]
    if not relaxed or RELAXED.search(source.comment(statement.first, statement.last)):
        return
    failure_said = any("relaxed" in note.text for note in source.notes_of(statement))
    for access in relaxed:
        other_half = access.operation == "CAS" and access.orders[0] != "relaxed" and failure_said
        if not other_half and not covered_from_outside(source, statement) and not covered_by_count(source, statement):
            source.error(access.offset, "relaxed without a reason '// relaxed: ...' directly above")


def covered_from_outside(source: Source, statement: Statement) -> bool:
    """A loop, or a statement around a lambda, covers its body; a function only when it says so."""
    block = statement.block
    while block is not None:
        row = line_of(source.code, block.head) - 1
        above = source.comment(row, row)
        if block.kind == "function":
            return bool(WHOLE_FUNCTION.search(above))
        if block.kind in ("loop", "lambda") and RELAXED.search(above):
            return True
        block = block.parent
    return False


def covered_by_count(source: Source, statement: Statement) -> bool:
    """'relaxed (2x)' above the statements directly before this one, with nothing else between."""
    row = statement.first
    while row > 0 and source.lines[row - 1].strip() and not COMMENT.match(source.lines[row - 1]):
        row -= 1
    counted = RELAXED.search(source.comment(row, row - 1))
    if not counted or not counted[1]:
        return False
    before = [s for s in source.statements if row <= s.first < statement.first]
    if not before or any(s.block is not statement.block for s in before):
        return False
    return sum("relaxed" in a.orders for s in before for a in s.accesses) < int(counted[1])


def check_seam(root: Path, source: Source) -> None:
    if source.file == SEAM or BELOW_SEAM in source.file.parents:
        return
    for match in re.finditer(r"^\s*#\s*include\s*<(atomic|stdatomic\.h)>", source.code, re.M):
        source.error(match.start(1), f"<{match[1]}> belongs into {SEAM.name} alone")
    for match in RAW.finditer(source.code):
        source.error(match.start(), f"{match[0]} goes past the seam; use the names of {SEAM.name}")


def check_operators(source: Source) -> None:
    """Operators on atomics are seq_cst in disguise; found for names declared in the same file."""
    for name in sorted(set(ATOMIC_NAME.findall(source.code))):
        operators = rf"(?:\+\+|--)\s*(?:this->)?\b{name}\b(?!\s*[.\[(-])|\b{name}\s*(?:\+\+|--|[-+|&^]?=(?!=))"
        for match in re.finditer(operators, source.code):
            before = source.code[: match.start()].rstrip()
            declares = re.search(r"[\w&*]$|(?<!-)>$", before) and not re.search(r"\b(return|else|do)$", before)
            if not declares:
                source.error(match.start(), f"an operator on the atomic {name} defaults to seq_cst")


def check_order_words(source: Source) -> None:
    for statement in source.statements:
        for access in statement.accesses:
            if "consume" in access.orders:
                source.error(access.offset, "consume is discouraged by the standard; use acquire")


def check_leftovers(source: Source, book: NoteBook) -> None:
    """Notes that lost their statement, and reasons that name numbers of no note."""
    for note in source.notes:
        if not note.used and note.order in ORDERS and note.operation.lower() in WORDS:
            source.errors.append(f"{note.where} stands above no {note.order}-{note.operation}")
    for row, line in enumerate(source.lines):
        comment = COMMENT.match(line)
        if not comment or not (RELAXED.search(comment[1]) or WHOLE_FUNCTION.search(comment[1])):
            continue
        for name, number in references(comment[1]):
            if isinstance(found := book.resolve(source.file, name, number), str):
                source.errors.append(f"{source.file}:{row + 1}: the reason names {found}")


def check(root: Path) -> tuple[int, list[str]]:
    files = [f.relative_to(root) for f in files_below(root, ["include", "src"], is_cpp)]
    sources = [Source(root, file) for file in files]
    book = NoteBook((note for source in sources for note in source.notes), files)
    for source in sources:
        for statement in source.statements:
            check_strong(source, statement)
            check_relaxed(source, statement)
        check_seam(root, source)
        check_operators(source)
        check_order_words(source)
        check_leftovers(source, book)
    return len(files), [error for source in sources for error in source.errors] + book.check()


if __name__ == "__main__":
    sys.exit(run("atomics", check))
