#!/usr/bin/env python3
"""Reads documents, comments and test names as English, and reports what makes them hard to read.

 * A subject that names no actor: see PATTERNS.
 * Phrases that read as another language, such as "dear to make", "for good" or "but for".  prose: the same
 * Sentences of more than 30 words. An inline code span is one word, and a table cell stands alone.
 * A doc comment of C++ that begins with a fragment, such as "Of the value" or "Whether it is idle": see FRAGMENT.

A line that has to stay gives its reason in a comment: `prose: <reason>`, in Markdown `<!-- prose: <reason> -->`.
"""
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from check_common import TOKENS, files_below, is_cpp, line_of, run

MOST_WORDS = 30

PERSON = (r"(?:people|persons?|users?|programmers?|readers?|newcomers?|developers?|engineers?|authors?|maintainers?|"
          r"reviewers?|contributors?|strangers?)")
PATTERNS = [
    (re.compile(rf"\b(?<!\w)(?:{PERSON},?\s+)?who\b", re.I), "names no actor"),
    (re.compile(r"(?:^|[.!?:]\s+)Whose\b"), "names no actor"),
    (re.compile(r"\b(?:whoever|whomever|whosever|nobody)\b", re.I), "names no actor"),
    (re.compile(r"\bdear(?:er)? to\b|\bdearer\b", re.I), "say expensive, or costs more"),
    (re.compile(r"\bfor good\b(?! reason| cause| or )", re.I), "say permanently, or for ever"),
    (re.compile(r"\bbut for\b", re.I), "say except for, or without"),
]
FRAGMENT = re.compile(r"(?:Of|As|Whether|Null:|False:|The same|After)(?!\w)")  # the first words of a doc comment
FINE = re.compile(rf"^{PERSON}", re.I)  # "users who" has its actor

EXCUSE = re.compile(r"\bprose:[ \t]*(.*?)[ \t]*(?:-->|\*/|$)")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_`<]*[A-Z0-9`])")
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
HTML = re.compile(r"<[^<>\s][^<>]*>")
FENCE = re.compile(r"^\s*(```+|~~~+)")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+|^\s*>\s?|^\s*#+\s+")
TEST_NAME = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
PYTHON_TEST = re.compile(r"^\s*def (test_\w+)", re.M)
WORD_IN_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass
class Paragraph:
    """Text that is read in one piece, and the line that each part of it comes from."""

    text: str = ""
    starts: list[tuple[int, int]] = field(default_factory=list)  # offset, line
    excused: set[int] = field(default_factory=set)  # lines

    def add(self, line: int, text: str) -> list[str]:
        """Returns what is wrong with the line's excuse."""
        excuse = EXCUSE.search(text)
        if excuse:
            self.excused.add(line)
            text = re.sub(r"(?:<!--|//|#)?\s*$", "", text[: excuse.start()])
        self.text += " " if self.text else ""
        self.starts.append((len(self.text), line))
        self.text += text.strip()
        return [f"{line}: prose: without a reason"] if excuse and not excuse[1] else []

    def lines(self, begin: int, end: int) -> set[int]:
        ends = [start for start, _ in self.starts[1:]] + [len(self.text) + 1]
        return {line for (start, line), stop in zip(self.starts, ends) if start < end and stop > begin}

    def findings(self) -> Iterator[str]:
        text = CODE_SPAN.sub(lambda m: "\0" * len(m[0]), self.text)  # one word, of the same length
        for pattern, why in PATTERNS:
            for match in pattern.finditer(text):
                lines = self.lines(match.start(), match.end())
                if not FINE.match(match[0]) and not lines & self.excused:
                    yield f"{max(lines)}: \"{match[0].strip(' .:')}\": {why}"
        begin = 0
        for end in [m.start() for m in SENTENCE_END.finditer(self.text)] + [len(self.text)]:
            plain = HTML.sub(" ", LINK.sub(r"\1", re.sub("\0+", "x", text[begin:end])))
            words = [word for word in plain.split() if re.search(r"\w", word)]
            lines = self.lines(begin, end)
            if len(words) > MOST_WORDS and not lines & self.excused:
                yield f"{min(lines)}: a sentence of {len(words)} words: {' '.join(words[:6])} ..."
            begin = end


class Reader:
    """Collects paragraphs line by line."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._open: Paragraph | None = None

    def add(self, line: int, text: str) -> None:
        if not text.strip():
            return self.end()
        self._open = self._open or Paragraph()
        self.found += self._open.add(line, text)
        return None

    def alone(self, line: int, text: str) -> None:
        self.end()
        self.add(line, text)
        self.end()

    def end(self) -> None:
        if self._open:
            self.found += self._open.findings()
        self._open = None


def read_markdown(text: str, reader: Reader) -> None:
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if fence or mark:
            reader.end()
            if mark and (not fence or line.strip() == fence):
                fence = "" if fence else mark[1]
        elif line.lstrip().startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                reader.alone(number, cell)
        elif line.strip().startswith("<!--") and "prose:" not in line:
            reader.end()
        else:
            if LIST_ITEM.match(line):
                reader.end()
            reader.add(number, LIST_ITEM.sub("", line))
            if re.match(r"#+\s", line):
                reader.end()
    reader.end()


def read_comment(number: int, text: str, reader: Reader) -> None:
    """One line of a comment, without its mark."""
    if text.startswith("   ") or re.match(r"\s*(?:NOLINT|clang-format|-{3,}|={3,}|[Uu]sage:)", text):
        return reader.end()  # a sample, a command, or for a tool
    if LIST_ITEM.match(text):
        reader.end()
    return reader.add(number, re.sub(r"@\w+", "", LIST_ITEM.sub("", text)))


def read_cpp(text: str, reader: Reader) -> None:
    below = (0, 0)  # where a line would continue the comment above it
    for match in TOKENS.finditer(text):
        comment = match["comment"]
        if not comment:
            continue
        number = line_of(text, match.start())
        column = match.start() - text.rfind("\n", 0, match.start())
        if comment.startswith("/*"):
            reader.end()
            for offset, line in enumerate(comment[2:-2].split("\n")):
                read_comment(number + offset, re.sub(r"^\s*\*", "", line), reader)
            reader.end()
            continue
        if (number, column) != below or text[match.start() - column + 1 : match.start()].strip():
            reader.end()  # a comment behind code stands alone
            first = re.match(r"///<?\s*(.*)", comment)
            if first and (start := FRAGMENT.match(first[1])):
                reader.found.append(f"{number}: a doc comment begins with \"{start[0]}\": say what it does, by a verb or a noun")
        read_comment(number, re.sub(r"^//[/!]?<?", "", comment), reader)
        below = (number + 1, column)
    reader.end()


def read_python(text: str, reader: Reader) -> None:
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            if token.start[0] != last + 1:
                reader.end()
            read_comment(token.start[0], token.string[1:], reader)
            last = token.start[0]
    reader.end()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            value = node.body[0].value  # type: ignore[attr-defined]
            for offset, line in enumerate(value.value.split("\n")):
                read_comment(value.lineno + offset, line[4:] if line.startswith("    ") else line, reader)
            reader.end()


def read_script(text: str, reader: Reader) -> None:
    """Shell and CMake."""
    last = 0
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"^\s*#(?!!)(.*)$|^.*?\s#\s(.*)$", line)
        if not match:
            continue
        if number != last + 1 or match[2]:
            reader.end()
        read_comment(number, match[1] if match[1] is not None else match[2], reader)
        last = number
    reader.end()


def read_names(text: str, reader: Reader) -> None:
    names = [(m.start(), m[1] + m[2]) for m in TEST_NAME.finditer(text)]
    names += [(m.start(1), m[1]) for m in PYTHON_TEST.finditer(text)]
    for offset, name in names:
        number = line_of(text, offset)
        excuse = EXCUSE.search(text.split("\n")[number - 1])
        words = " ".join(WORD_IN_NAME.findall(name)).lower()
        reader.alone(number, words + (f" prose: {excuse[1]}" if excuse else ""))


def read(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    if path.suffix == ".md":
        read_markdown(text, reader)
    elif is_cpp(path):
        read_cpp(text, reader)
        read_names(text, reader)
    elif path.suffix == ".py":
        read_python(text, reader)
        read_names(text, reader)
    else:
        read_script(text, reader)
    return reader.found


def check(root: Path) -> tuple[int, list[str]]:
    kinds = {".md", ".py", ".sh", ".cmake"}
    files = files_below(root, ["."], lambda p: p.suffix in kinds or is_cpp(p) or p.name == "CMakeLists.txt")
    errors = []
    for path in files:
        name = path.relative_to(root).as_posix()
        errors += [f"{name}:{found}" for found in sorted(read(path), key=lambda f: int(f.split(":")[0]))]
    return len(files), errors


if __name__ == "__main__":
    sys.exit(run("prose", check))
