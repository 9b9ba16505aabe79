"""A small source tree in a temporary folder, for tests of the checkers."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True


class TreeTest(unittest.TestCase):
    """Each test starts with an empty tree."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Seeds a fault into a file; the text to replace must occur once."""
        text = (self.root / name).read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1, f"{old!r} in {name}")
        self.write(name, text.replace(old, new))

    def assert_clean(self, errors: list[str]) -> None:
        self.assertEqual(errors, [])

    def assert_fault(self, errors: list[str], *parts: str) -> None:
        """Expects exactly one message that contains all these parts."""
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])
