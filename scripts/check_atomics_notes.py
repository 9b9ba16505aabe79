"""The numbered notes above atomic accesses: reading them, and checking that partners name each other."""
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ORDERS = ("acquire", "release", "acq_rel", "seq_cst")
HEAD = re.compile(r"^\s*//\s*\((\d+)\)\s*-\s*(.*)$")
COMMENT = re.compile(r"^\s*//+[!<]?\s?(.*)$")
THIS = re.compile(r"^this (\w+)-([\w-]*\w)")
# "(1, 2)" or "depot.hpp (1, 2)"; "O(1)" is none.
REFERENCE = re.compile(r"(?:`?([\w./-]+\.(?:hpp|cpp|ipp|h))`?\s+|(?<![\w)\]]))\((\d+(?:\s*,\s*\d+)*)\)")
SENTENCE_END = re.compile(r"[.;:](?=\s|$)")
PARTNERS = re.compile(r"synchronizes-with|in one total order with")
DESCRIBED = re.compile(r"\b(" + "|".join(ORDERS) + r")-\w")
CONNECTED = re.compile(r"^[\s,`]*(?:(?:and|or|with|the)[\s,`]*)*$")
ACQUIRING = {"acquire", "acq_rel", "seq_cst"}
RELEASING = {"release", "acq_rel", "seq_cst"}

Key = tuple[Path, int]  # unit and number


@dataclass
class Note:
    """`(n) - this <order>-<operation> ...` and all the lines that belong to it."""

    file: Path
    line: int
    number: int
    text: str
    order: str = ""
    operation: str = ""
    used: bool = False  # an access stands below it
    partners: list[tuple[str, int, str, bool]] = field(default_factory=list)  # file, number, order, total order?
    mentioned: set[tuple[str, int]] = field(default_factory=set)

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}: ({self.number})"


def unit_of(file: Path) -> Path:
    """A header and the source of the same name in the same layer number their notes together."""
    parts = file.with_suffix("").parts
    for base in (("include", "lido"), ("src",)):
        if parts[: len(base)] == base:
            return Path(*parts[len(base) :])
    return Path(*parts)


def references(text: str) -> list[tuple[str, int]]:
    """File ('' for the own unit) and number of everything a text names."""
    return [(m[1] or "", int(n)) for m in REFERENCE.finditer(text) for n in re.findall(r"\d+", m[2])]


def partners(clause: str, total: bool) -> list[tuple[str, int, str, bool]]:
    """What 'synchronizes-with the acquire-load (2) and the acq_rel-CAS (3), as (1) does' means: 2, 3.

    A partner has its order before it, or follows another one; the rest is mentioned in passing.
    """
    found, behind = [], 0
    for match in REFERENCE.finditer(clause):
        between = clause[behind : match.start()]
        said = DESCRIBED.findall(between)
        if said or CONNECTED.match(between):
            found += [(name, number, said[-1] if said else "", total) for name, number in references(match[0])]
        behind = match.end()
    return found


def parse(file: Path, line: int, number: int, text: str) -> Note:
    note = Note(file, line, number, text)
    if this := THIS.match(text):
        note.order, note.operation = this[1], this[2]
    for match in PARTNERS.finditer(text):
        end = SENTENCE_END.search(text, match.end())
        clause = text[match.end() : end.start() if end else len(text)]
        note.partners += partners(clause, match[0] != "synchronizes-with")
    note.mentioned = set(references(text))
    return note


def read_notes(file: Path, lines: list[str]) -> list[Note]:
    """All notes of a file in source order."""
    found = []
    for row, line in enumerate(lines):
        if not (head := HEAD.match(line)):
            continue
        words = [head[2]]
        for following in lines[row + 1 :]:
            more = COMMENT.match(following)
            if not more or HEAD.match(following) or re.match(r"relaxed\b[^.]*:", more[1]):
                break
            words.append(more[1])
        found.append(parse(file, row + 1, int(head[1]), " ".join(words)))
    return found


class NoteBook:
    """The notes of all files, by unit and number."""

    def __init__(self, notes: Iterable[Note], files: Iterable[Path]) -> None:
        self.notes = list(notes)
        self.files = list(files)
        self.by_key: dict[Key, Note] = {}
        for note in self.notes:
            self.by_key.setdefault((unit_of(note.file), note.number), note)

    def resolve(self, owner: Path, name: str, number: int) -> Note | str:
        """The note that `name (number)` in file `owner` means, or what is wrong with it."""
        if not name:
            return self.by_key.get((unit_of(owner), number)) or f"({number}), which does not exist"
        units = {unit_of(f) for f in self.files if f.as_posix().endswith("/" + name) or f.as_posix() == name}
        if len(units) != 1:
            problem = "is no file" if not units else "is more than one file; write its layer too"
            return f"{name} ({number}), but {name} {problem}"
        return self.by_key.get((units.pop(), number)) or f"{name} ({number}), which does not exist"

    def check(self) -> list[str]:
        errors = self._check_numbers()
        for note in self.notes:
            errors += self._check_form(note) or self._check_partners(note)
        return errors

    def _check_numbers(self) -> list[str]:
        errors = []
        last: dict[Path, int] = {}
        for note in self.notes:
            if self.by_key[(unit_of(note.file), note.number)] is not note:
                errors.append(f"{note.where} is there twice")
            elif note.number < last.get(note.file, 0):
                errors.append(f"{note.where} comes after ({last[note.file]}); numbers ascend in source order")
            last[note.file] = note.number
        return errors

    def _check_form(self, note: Note) -> list[str]:
        if note.order not in ORDERS:
            return [f"{note.where} does not begin 'this <order>-<operation>'"]
        if not note.partners:
            return [f"{note.where} names no partner: 'synchronizes-with the <order>-<operation> (m)'"]
        return []

    def _check_partners(self, note: Note) -> list[str]:
        errors = []
        for name, number in sorted(note.mentioned):
            if isinstance(found := self.resolve(note.file, name, number), str):
                errors.append(f"{note.where} names {found}")
        for name, number, order, total in note.partners:
            partner = self.resolve(note.file, name, number)
            if isinstance(partner, Note):
                errors += self._check_pair(note, partner, order, total)
        return errors

    def _check_pair(self, note: Note, partner: Note, order: str, total: bool) -> list[str]:
        label = f"({partner.number})" if unit_of(note.file) == unit_of(partner.file) else f"{partner.file.name} ({partner.number})"
        backward = (self.resolve(partner.file, name, number) for name, number in partner.mentioned)
        if not any(found is note for found in backward):
            return [f"{note.where} names {label}, which does not name it back"]
        if order and order != partner.order:
            return [f"{note.where} calls {label} {order}; its own note says {partner.order}"]
        orders = {note.order, partner.order}
        if total and orders != {"seq_cst"}:
            return [f"{note.where} and {label}: only seq_cst operations have one total order"]
        one_way = note.order in RELEASING and partner.order in ACQUIRING
        if not total and not one_way and not (note.order in ACQUIRING and partner.order in RELEASING):
            return [f"{note.where} and {label}: {note.order} cannot synchronize with {partner.order}"]
        return []
