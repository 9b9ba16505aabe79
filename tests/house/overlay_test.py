"""overlay.py inserts switches where rules require, refuses rules that do not fit, and changes nothing else."""
import subprocess
import sys
import unittest
from pathlib import Path

from tree import TreeTest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "stress" / "mutants"))
import overlay  # noqa: E402
from overlay import Edit, Fault, mutated, stripped  # noqa: E402

SOURCE = """int first(int a) {
  // a comment with put(a);
  put(a);  // (1) - why
  if (a > 1) {
    return a;
  }
  return a + 1;
}
int second(int a) { return a + 1; }
"""
RULE = '[late]\nsentence = "Late."\nfile = "src/a.cpp"\nfunction = "first"\nsnippet = "put(a);"\nreplacement = ""\n'


def edit(snippet: str, text: str, kind: str = "replacement", function: str = "first", rule: str = "r") -> Edit:
    return Edit(rule, "src/a.cpp", function, snippet, kind, text)


def switched(*edits: Edit) -> str:
    """The text with short switches and no marks."""
    text = mutated(SOURCE, list(edits))
    assert stripped(text) == SOURCE
    assert text.count("\n") == SOURCE.count("\n")
    text = text.replace(overlay.BEGIN, "").replace(overlay.END, "")
    return text.replace("::lido::detail::broken(::lido::detail::mutation::", "broken(")


class Insertions(unittest.TestCase):
    def test_statement_gets_an_if(self) -> None:
        self.assertIn("  if (broken(r)) { get(a); } else { put(a); }  // (1)", switched(edit("put(a);", "get(a);")))

    def test_expression_gets_a_condition(self) -> None:
        self.assertIn("  return (broken(r) ? (0) : (a + 1));\n}\nint second", switched(edit("a + 1", "0")))

    def test_comments_and_line_breaks_may_stand_between_the_words(self) -> None:
        text = switched(edit("put(a); if (a > 1) { return a; }", ""))
        self.assertIn("if (broken(r)) {  } else { put(a);  // (1) - why\n  if (a > 1) {\n    return a;\n  } }\n", text)

    def test_something_may_run_before_it(self) -> None:
        self.assertIn("if (broken(r)) { get(); } return a + 1;", switched(edit("return a + 1;", "get();", "before")))

    def test_something_may_stand_before_it_always(self) -> None:
        self.assertIn("  point(); put(a);", switched(edit("put(a);", "point();", "insert")))

    def test_switches_nest(self) -> None:
        text = switched(edit("put(a); if (a > 1) { return a; }", "", rule="p"), edit("a > 1", "true", rule="q"))
        self.assertIn("if (broken(p)) {  } else { put(a);", text)
        self.assertIn("if ((broken(q) ? (true) : (a > 1))) {", text)

    def test_of_two_switches_of_one_snippet_the_first_is_outside(self) -> None:
        text = switched(edit("a + 1", "1", rule="p"), edit("a + 1", "2", rule="q"))
        self.assertIn("return (broken(p) ? (1) : ((broken(q) ? (2) : (a + 1))));", text)

    def test_words_match_as_a_whole(self) -> None:
        with self.assertRaisesRegex(Fault, "^r: its snippet occurs 0 times"):
            mutated(SOURCE, [edit("ut(a);", "")])


class Refusals(unittest.TestCase):
    def refused(self, reason: str, *edits: Edit) -> None:
        with self.assertRaisesRegex(Fault, reason):
            mutated(SOURCE, list(edits))

    def test_snippet_that_is_not_there(self) -> None:
        self.refused("^r: its snippet occurs 0 times in src/a.cpp, first: get", edit("get(a);", ""))

    def test_snippet_in_a_comment_alone(self) -> None:
        self.refused("^r: its snippet occurs 0 times", edit("a comment", ""))

    def test_snippet_that_is_there_twice(self) -> None:
        self.refused("^r: its snippet occurs 2 times in src/a.cpp, all of it", edit("a + 1", "0", function=""))

    def test_function_that_is_not_there(self) -> None:
        self.refused("^r: no function third in src/a.cpp", edit("put(a);", "", function="third"))

    def test_snippet_in_another_function(self) -> None:
        self.refused("^r: its snippet occurs 0 times", edit("put(a);", "", function="second"))

    def test_snippets_that_overlap(self) -> None:
        self.refused("^q: its snippet and that of p overlap",
                     edit("put(a); if (a > 1)", "", rule="p"), edit("if (a > 1) { return a; }", "", rule="q"))

    def test_mark_in_the_source(self) -> None:
        with self.assertRaisesRegex(Fault, "^r: a mark"):
            mutated(SOURCE + overlay.BEGIN, [edit("put(a);", "")])


class Files(TreeTest):
    def refused(self, reason: str, text: str, name: str = "rules/some.toml") -> None:
        self.write(name, text)
        with self.assertRaisesRegex(Fault, reason):
            overlay.read(self.root / "rules")

    def test_rules_are_read(self) -> None:
        self.write("rules/some.toml", RULE + 'modelled = false\n[[late.also]]\nfunction = "second"\nsnippet = "a"\nbefore = "b;"\n')
        rules, edits = overlay.read(self.root / "rules")
        self.assertEqual(rules, [overlay.Rule("late", "Late.", "some", False)])
        self.assertEqual(edits[1], Edit("late", "src/a.cpp", "second", "a", "before", "b;"))

    def test_rule_needs_a_sentence(self) -> None:
        self.refused("^late: no sentence", RULE.replace('sentence = "Late."\n', ""))

    def test_window_has_no_switch(self) -> None:
        self.refused("^late: no sentence", RULE.replace('sentence = "Late."\n', ""), "rules/windows.toml")

    def test_name_is_given_once(self) -> None:
        self.write("rules/other.toml", RULE)
        self.refused("^late: in other.toml and in some.toml", RULE)

    def test_edit_does_one_thing(self) -> None:
        self.refused("^late: an edit has one of", RULE + 'before = "a;"\n')

    def test_unknown_key(self) -> None:
        self.refused("^late: unknown key snippets", RULE + 'snippets = "a"\n')

    def test_comment_in_what_is_inserted(self) -> None:
        self.refused("^late: a comment", RULE.replace('replacement = ""', 'replacement = "a; // b"'))

    def test_file_that_is_not_there(self) -> None:
        self.write("include/b.hpp", SOURCE)
        self.write("src/b.cpp", SOURCE)
        with self.assertRaisesRegex(Fault, "^r: no file src/a.cpp"):
            overlay.copy(self.root, self.root / "out", [edit("put(a);", "")])

    def test_only_what_changed_is_written_and_what_is_gone_removed(self) -> None:
        self.write("include/b.hpp", SOURCE)
        self.write("src/a.cpp", SOURCE)
        out = self.root / "out"
        overlay.copy(self.root, out, [])
        before = (out / "include/b.hpp").stat().st_mtime_ns
        self.write("src/c.cpp", SOURCE)
        overlay.copy(self.root, out, [edit("put(a);", "")])
        self.assertEqual((out / "include/b.hpp").stat().st_mtime_ns, before)
        self.assertIn("broken", (out / "src/a.cpp").read_text(encoding="utf-8"))
        (self.root / "src/c.cpp").unlink()
        overlay.copy(self.root, out, [])
        self.assertFalse((out / "src/c.cpp").exists())
        self.assertEqual((out / "src/a.cpp").read_text(encoding="utf-8"), SOURCE)


class ThisTree(TreeTest):
    def test_without_its_insertions_the_copy_is_what_ships(self) -> None:
        program = ROOT / "stress/mutants/overlay.py"
        subprocess.run([sys.executable, "-B", program, self.root], check=True)
        shipped = [path for name in overlay.FOLDERS for path in (ROOT / name).rglob("*.?pp")]
        changed = 0
        for path in shipped:
            text, copied = path.read_bytes(), (self.root / path.relative_to(ROOT)).read_bytes()
            self.assertEqual(stripped(copied.decode()).encode(), text, path)
            changed += copied != text
        self.assertGreater(changed, 20)

    def test_what_ships_has_no_switches(self) -> None:
        words = ("broken(", "schedule_point", "mutation::", "count_shared_rmw")
        for path in [path for name in overlay.FOLDERS for path in (ROOT / name).rglob("*.?pp")]:
            self.assertEqual([word for word in words if word in path.read_text(encoding="utf-8")], [], path)


if __name__ == "__main__":
    unittest.main()
