"""check_prose passes plain English and finds each seeded phrase, long sentence and test name, where it stands."""
import unittest

from tree import TreeTest

import check_prose

LONG = " ".join(["word"] * 31)
FITS = " ".join(["word"] * 30)
# Seeded faults, each with what the message says. Spelled so that this file holds none itself.
PHRASES = [
    ("wh" + "o waits is served", "names no actor"),
    ("the thread wh" + "o waits", "names no actor"),
    ("wh" + "oever comes", "names no actor"),
    ("no" + "body comes", "names no actor"),
    ("connections are de" + "ar to make", "expensive"),
    ("it stands still for go" + "od", "permanently"),
    ("all bu" + "t for one", "except for"),
]


class Prose(TreeTest):
    def errors(self) -> list[str]:
        return check_prose.check(self.root)[1]

    def found(self, name: str, text: str, *parts: str) -> None:
        self.write(name, text)
        self.assert_fault(self.errors(), *parts)
        self.write(name, "")

    def passes(self, name: str, text: str) -> None:
        self.write(name, text)
        self.assert_clean(self.errors())
        self.write(name, "")


class Patterns(Prose):
    def test_phrases_are_found_in_every_kind_of_text(self) -> None:
        for phrase, why in PHRASES:
            self.found("docs/a.md", f"# Title\n\nFine here, and {phrase}.\n", "docs/a.md:3:", why)
            self.found("tests/a.cpp", f"int a;  // fine\n// Fine here, and {phrase}.\n", "tests/a.cpp:2:", why)
            self.found("tests/a.py", f'"""Fine.\n\nHere {phrase}.\n"""\n', "tests/a.py:3:", why)
            self.found("tests/b.py", f"a = 1\n# Here {phrase}.\n", "tests/b.py:2:", why)
            self.found("tests/a.sh", f"set -e\nls # here {phrase}\n", "tests/a.sh:2:", why)
            self.found("tests/a.cmake", f"# Here {phrase}.\n", "tests/a.cmake:1:", why)

    def test_capital_letters_do_not_hide(self) -> None:
        self.found("docs/a.md", "Wh" + "o waits is served.\n", "names no actor")
        self.found("docs/a.md", "It waits. Who" + "se time is up leaves.\n", "names no actor")

    def test_phrase_across_lines_is_found(self) -> None:
        self.found("docs/a.md", "All bu" + "t\nfor one.\n", "docs/a.md:2:", "except for")
        self.found("tests/a.cpp", "// All bu" + "t\n// for one.\n", "tests/a.cpp:2:", "except for")

    def test_people_are_actors(self) -> None:
        self.passes("docs/a.md", "Programmers wh" + "o pool jobs, and users wh" + "o do not, for go" + "od reasons.\n")

    def test_words_that_contain_them_pass(self) -> None:
        self.passes("docs/a.md", "The whole of it. A value whose slot is free. Butter, forgood, adear to.\n")

    def test_code_is_no_prose(self) -> None:
        bad = "wh" + "o waits"
        self.passes("docs/a.md", f"A span `{bad}` and\n\n```text\n{bad} {LONG}\n```\n")
        self.passes("tests/a.cpp", f'auto a = "{bad}";\n//     {bad}\n')
        self.passes("tests/a.py", f'a = "{bad}"\n')


class Sentences(Prose):
    def test_thirty_words_pass_and_one_more_is_found(self) -> None:
        for name, mark in (("docs/a.md", ""), ("tests/a.cpp", "// "), ("tests/a.py", "# "), ("tests/a.sh", "# ")):
            self.passes(name, f"{mark}{FITS}.\n")
            self.found(name, f"{mark}{LONG}.\n", f"{name}:1: a sentence of 31 words")

    def test_lines_are_read_together(self) -> None:
        half = " ".join(["word"] * 16)
        self.found("docs/a.md", f"Fine.\n\n{half}\n{half}.\n", "docs/a.md:3: a sentence of 32 words")
        self.found("tests/a.cpp", f"/// {half}\n/// {half}.\n", "tests/a.cpp:1: a sentence of 32 words")

    def test_what_ends_a_sentence(self) -> None:
        half = " ".join(["word"] * 16)
        for between in (". It ", "? It ", ".\n\n", "\n\n", "\n- ", "\n\n1. ", ". `It` ", ".\n## It\n", "\n| a | b |\n"):
            self.passes("docs/a.md", f"{half}{between}{half}.\n")
        for between in ("\n//\n// ", "\n// - ", "\nint a;\n// ", "\nint a;  // "):
            self.passes("tests/a.cpp", f"// {half}{between}{half}.\n")

    def test_comment_behind_code_stands_alone(self) -> None:
        half = " ".join(["word"] * 16)
        for second in ("int abc", "int b"):
            self.passes("tests/a.cpp", f"int a;  ///< {half}\n{second};  ///< {half}\n")
        self.found("tests/a.cpp", f"int a;  ///< {half}\n        ///< {half}\n", "tests/a.cpp:1: a sentence")

    def test_table_cells_stand_alone(self) -> None:
        half = " ".join(["word"] * 16)
        self.passes("docs/a.md", f"| a | b |\n|---|---|\n| {half} | {half} |\n")
        self.found("docs/a.md", f"| a | b |\n|---|---|\n| x | {LONG} |\n", "docs/a.md:3: a sentence")

    def test_span_and_link_are_read_as_shown(self) -> None:
        self.passes("docs/a.md", "One `a b c d e f g h` [two](three.md) " + " ".join(["word"] * 27) + ".\n")


class Names(Prose):
    def test_names_of_tests_are_read(self) -> None:
        self.found("tests/a.cpp", "\nTEST(Waiting, No" + "bodyIsForgotten) {}\n", "tests/a.cpp:2:", "names no actor")
        self.found("tests/a.cpp", "TYPED_TEST(Pool, Wh" + "oWaitsIsServed) {}\n", "names no actor")
        self.found("tests/a.py", "def test_wh" + "o_waits():\n    pass\n", "tests/a.py:1:", "names no actor")
        self.passes("tests/a.cpp", "TEST(Waiting, EveryWaiterIsServed) {}\n")


class Excuses(Prose):
    def test_reason_excuses_its_line_alone(self) -> None:
        bad = "Wh" + "o waits?"
        self.passes("docs/a.md", f"{bad} <!-- prose: quoted -->\n")
        self.passes("tests/a.cpp", f"// {bad} prose: quoted\nTEST(A, No" + "body) {}  // prose: a name from elsewhere\n")
        self.passes("docs/a.md", f"{LONG}. <!-- prose: a title -->\n")
        self.found("docs/a.md", f"Fine. <!-- prose: quoted -->\n{bad}\n", "docs/a.md:2:")

    def test_reason_must_be_given(self) -> None:
        self.write("docs/a.md", "Wh" + "o waits? <!-- prose: -->\n")
        self.assertTrue(any("without a reason" in error for error in self.errors()))


class FirstWords(Prose):
    def test_doc_comment_that_begins_with_a_fragment_is_found(self) -> None:
        for words in ("Of the value.", "Whether it is idle.", "Null: there is none.", "The same for two.", "As above."):
            self.found("include/a.hpp", f"/// {words}\nint f();\n", "include/a.hpp:1:")

    def test_other_lines_and_comments_may_begin_so(self) -> None:
        self.passes("include/a.hpp", "/// Returns the handle\n/// As a number. Offset in bytes.\n/// Often zero.\nint f();\n// As above.\n")


if __name__ == "__main__":
    unittest.main()
