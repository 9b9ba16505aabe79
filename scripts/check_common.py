"""What the checkers share: finding files, reading C++ without its comments, and its blocks."""
import bisect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPP_SUFFIXES = {".hpp", ".cpp", ".h", ".ipp"}
# Trees that are not ours or not text: never read.
SKIPPED = re.compile(r"^(\.git|\.cache|\.vscode|\.idea|__pycache__|(cmake-)?build([-_].*)?)$")

NUMBER = r"\b\d[\w.]*(?:'\w+)*"
COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r'R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
TOKENS = re.compile(f"(?P<number>{NUMBER})|(?P<comment>{COMMENT})|(?P<string>{STRING})", re.S)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def mask(text: str, strings: bool = True) -> str:
    """The text with comments (and strings) turned to blanks; every offset and line stays."""

    def replace(match: re.Match[str]) -> str:
        if match["comment"] or (match["string"] and strings):
            return _blank(match[0])
        return match[0]

    return TOKENS.sub(replace, text)


def line_of(text: str, offset: int) -> int:
    """The line of an offset, counted from 1."""
    return text.count("\n", 0, offset) + 1


def files_below(root: Path, folders: Iterable[str], wanted: Callable[[Path], bool]) -> list[Path]:
    found = [p for name in folders for p in _walk(root / name) if wanted(p)]
    return sorted(set(found))


def _walk(path: Path) -> Iterator[Path]:
    if path.is_file():
        if path.name != ".git":  # of a worktree
            yield path
    elif path.is_dir() and not SKIPPED.match(path.name):
        for child in path.iterdir():
            yield from _walk(child)


def is_cpp(path: Path) -> bool:
    return path.suffix in CPP_SUFFIXES


def run(name: str, check: Callable[[Path], tuple[int, list[str]]]) -> int:
    """Runs a checker on the tree named on the command line; the exit code says the result."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    count, errors = check(root)
    print("\n".join(errors) or f"{name}: ok ({count} files)")
    return 1 if errors else 0


@dataclass
class Block:
    """One pair of braces that holds statements."""

    kind: str  # namespace, type, function, loop, control, lambda
    head: int  # offset where the statement that opens it starts
    open: int
    parent: "Block | None"
    close: int = -1


@dataclass
class _Frame:
    block: Block | None
    start: int | None = None  # where the statement being read starts
    brackets: list[str] = field(default_factory=list)


class Outline:
    """Blocks and statement starts of one C++ file, found by counting brackets.

    It reads tokens, not grammar: good enough to say which statement an offset belongs to
    and how long a function is, with no compiler at hand.
    """

    TYPE = re.compile(r"^(?:template\s*<.*>\s*|export\s+|typedef\s+)*(?:requires\b.*\s)?(class|struct|union|enum)\b[^()=]*$", re.S)
    NAMESPACE = re.compile(r"^(inline\s+)?namespace\b|^extern\s*$")
    LOOP = re.compile(r"^(for|while|do)\b")
    CONTROL = re.compile(r"^(if|else|switch|try|LIDO_TRY|catch)\b")
    LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(<[^>]*>\s*)?(\([^{}]*\))?\s*(mutable|noexcept|constexpr|\s)*(->[^{};]*)?$", re.S)
    ATTRIBUTE = re.compile(r"\[\[[^\[\]]*\]\]|\balignas\s*\((?:[^()]|\([^()]*\))*\)")
    LABEL = re.compile(r"^(public|private|protected|default|case\b.*)$", re.S)
    BLOCK_WORDS = {"else", "do", "try", "LIDO_TRY", "const", "noexcept", "override", "final", "mutable", "volatile", "requires"}

    def __init__(self, text: str) -> None:
        self.code = mask(text)
        self.blocks: list[Block] = []
        self.misread: list[int] = []  # offsets where the counting has gone wrong
        self._offsets: list[int] = []
        self._marks: list[tuple[int, Block | None]] = []
        self._frames = [_Frame(None)]
        self._scan()

    def statement(self, offset: int) -> tuple[int, Block | None]:
        """Where the statement around an offset starts, and the block it stands in."""
        at = bisect.bisect_right(self._offsets, offset) - 1
        return self._marks[at] if at >= 0 else (0, None)

    def functions(self) -> list[Block]:
        return [b for b in self.blocks if b.kind == "function"]

    def _scan(self) -> None:
        at = 0
        while at < len(self.code):
            char = self.code[at]
            if char == "#" and not self.code[self.code.rfind("\n", 0, at) + 1 : at].strip():
                at = self._directive(at)
                continue
            if not char.isspace():
                self._step(at, char)
            at += 1

    def _directive(self, at: int) -> int:
        """A preprocessor line is a statement of its own and ends the one before it."""
        end = at
        while (end := self.code.find("\n", end)) >= 0 and self.code[end - 1] == "\\":
            end += 1
        frame = self._frames[-1]
        interrupted = frame.start
        self._mark(at, at, frame.block)
        if interrupted is not None and end >= 0:  # the statement continues after the directive
            self._mark(end, interrupted, frame.block)
        return end if end >= 0 else len(self.code)

    def _mark(self, offset: int, start: int, block: Block | None) -> None:
        self._offsets.append(offset)
        self._marks.append((start, block))

    def _step(self, at: int, char: str) -> None:
        frame = self._frames[-1]
        if char == "}":
            self._close_brace(at)
            return
        if frame.start is None:
            frame.start = at
            self._mark(at, at, frame.block)
        if char in "([":
            frame.brackets.append(char)
        elif char in ")]":
            if frame.brackets:
                frame.brackets.pop()
        elif char == "{":
            self._open_brace(at)
        elif (char == ";" and not frame.brackets) or (char == ":" and self._ends_label(at, frame)):
            frame.start = None
        elif char == ";" and frame.brackets[-1] == "{":
            self.misread.append(at)  # an initializer holds no statement

    def _ends_label(self, at: int, frame: _Frame) -> bool:
        if "::" in (self.code[at : at + 2], self.code[at - 1 : at + 1]) or frame.start is None:
            return False
        return bool(self.LABEL.match(self.code[frame.start : at].strip()))

    def _open_brace(self, at: int) -> None:
        frame = self._frames[-1]
        assert frame.start is not None
        kind = self._kind(self.code[frame.start : at].strip(), frame)
        if kind is None:
            frame.brackets.append("{")
            return
        block = Block(kind, frame.start, at, frame.block)
        self.blocks.append(block)
        self._frames.append(_Frame(block))

    def _close_brace(self, at: int) -> None:
        frame = self._frames[-1]
        if frame.brackets and frame.brackets[-1] == "{":
            frame.brackets.pop()
            return
        if frame.block is None:
            return  # unbalanced, a compiler's business
        frame.block.close = at
        self._frames.pop()
        outer = self._frames[-1]
        if frame.block.kind == "lambda" and outer.start is not None:
            self._mark(at, outer.start, outer.block)
        else:
            outer.start = None

    def _kind(self, head: str, frame: _Frame) -> str | None:
        """What a brace after `head` opens; None for the braces of an initializer."""
        head = self.ATTRIBUTE.sub(" ", head).strip()
        if self.NAMESPACE.match(head):
            return "namespace"
        if self.TYPE.match(head):
            return "type"
        if self.LAMBDA.search(head) and not head.endswith("operator[]"):
            return "lambda"
        if frame.brackets and re.search(r"\brequires$", head):
            return "lambda"  # an expression with statements inside, in a condition
        if frame.brackets or not self._opens_block(head):
            return None
        if self.LOOP.match(head):
            return "loop"
        if self.CONTROL.match(head) or head == "":
            return "control"
        inside = frame.block.kind if frame.block else "namespace"
        return "function" if inside in ("namespace", "type") else "control"

    def _opens_block(self, head: str) -> bool:
        if head == "" or head[-1] in ")};{":
            return True
        word = re.search(r"(\w+)$", head)
        return bool(word and word[1] in self.BLOCK_WORDS) or bool(re.search(r"\)[^()=]*->[^()=]*$", head))
