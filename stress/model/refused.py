#!/usr/bin/env python3
"""Tests that `lido_model` refuses mutants with ambiguous names, one that is killed only by luck, and a fault never met.

Usage: refused.py <lido_model>
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROOF = "src/allocator/exhaustion_proof.hpp"
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else ""


def mutants(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "mutants", *arguments], check=False, capture_output=True, text=True)


class Names(unittest.TestCase):
    """Runs on copies of the sources with a missing or duplicate note."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for part in ("include", "src"):
            shutil.copytree(ROOT / part, self.root / part)

    def edit(self, old: str, new: str) -> None:
        path = self.root / PROOF
        text = path.read_text()
        self.assertEqual(text.count(old), 1, old)
        path.write_text(text.replace(old, new))

    def list(self) -> subprocess.CompletedProcess[str]:
        return mutants("--list", "--within", "waiting.register", "--sources", self.root)

    def test_names_as_they_are(self) -> None:
        run = self.list()
        self.assertEqual(run.returncode, 0, run.stdout)
        for number in (2, 4):
            self.assertIn(f"exhaustion_proof.hpp ({number}) full fence all", run.stdout)

    def test_number_used_twice_is_refused(self) -> None:
        self.edit("// (4) - this seq_cst-fence", "// (2) - this seq_cst-fence")
        run = self.list()
        self.assertIn("exhaustion_proof.hpp (2) full fence all is the name of several mutants", run.stdout)
        self.assertEqual(run.returncode, 1)

    def test_lost_note_is_refused(self) -> None:
        self.edit("// (4) - this seq_cst-fence", "// this seq_cst-fence")
        run = self.list()
        self.assertIn("full fence all has no numbered note above it", run.stdout)
        self.assertEqual(run.returncode, 1)


class Margin(unittest.TestCase):
    """Weakens an order that is killed after some ninety executions."""

    ORDER = ("treiber_list.hpp (1) load acquire", "--within", "freelist.aba", "--executions", "300")

    def test_early_death_is_none_by_luck(self) -> None:
        run = mutants(*self.ORDER, "--margin", "2")
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_late_death_is_refused(self) -> None:
        run = mutants(*self.ORDER, "--margin", "20")
        self.assertIn("was nearly missed", run.stdout)
        self.assertEqual(run.returncode, 1)


class FaultsThatNobodyMeets(unittest.TestCase):
    """A passing scenario proves nothing about a fault that it does not pass."""

    def run_with(self, *fault: str) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, "run", "freelist.pop_against_push", "--executions", "50", *fault]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def test_rule_of_another_layer(self) -> None:
        run = self.run_with("--mutation", "keep_top")
        self.assertIn("VACUOUS", run.stdout)
        self.assertEqual(run.returncode, 1)

    def test_order_at_a_line_without_one(self) -> None:
        run = self.run_with("--weaken", "src/freelist/treiber_list.hpp:1 load acquire")
        self.assertIn("VACUOUS", run.stdout)
        self.assertEqual(run.returncode, 1)

    def test_without_a_fault_it_holds(self) -> None:
        self.assertEqual(self.run_with().returncode, 0)


if __name__ == "__main__":
    unittest.main()
