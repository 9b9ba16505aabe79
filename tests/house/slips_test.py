"""Each slip has its place in the sources, a part with tests, and reasons; six are tried in each full run."""
import sys
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import slips


class SlipsTest(unittest.TestCase):
    def setUp(self):
        self.listed = tomllib.loads(slips.LIST.read_text(encoding="utf-8"))

    def test_each_text_to_find_is_there_once(self):
        for name, slip in self.listed.items():
            with self.subTest(name):
                self.assertEqual((ROOT / slip["file"]).read_text(encoding="utf-8").count(slip["find"]), 1)
                self.assertNotEqual(slip["find"], slip["replace"])

    def test_each_says_what_it_is_for_and_what_notices_it(self):
        for name, slip in self.listed.items():
            with self.subTest(name):
                self.assertTrue(slip["reason"] and slip["seen"])
                self.assertIn(slip["part"], slips.TESTS)
                self.assertRegex(slip["first"], r"^(unit|death|server)\.\w+ \S+$")

    def test_six_are_tried_in_each_full_run(self):
        self.assertEqual(sum(slip.get("few", False) for slip in self.listed.values()), 6)


if __name__ == "__main__":
    unittest.main()
