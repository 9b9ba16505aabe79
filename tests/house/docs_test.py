"""check_docs passes on good documents and fails on each seeded fault."""
import unittest

from tree import TreeTest

import check_docs

README = """# Lido

See the [tour](docs/tour.md#the-first-pool "a tour"), the [`code`](src/), [the web](https://example.org/x)
and [below](#sample-code) of [first](examples/first.cpp); `Boost.MySQL` and `a.b` are no tests. Not links: `[a](b)` and

```
[c](d)
```

## Sample code

<!-- snippet: examples/first.cpp -->
```cpp
int a = 1;
if (a) {
  run();
}
```

[ref]: docs/tour.md

<img src="docs/picture.svg" alt="a picture">
"""

TESTS = "# Tests\n\n| exact | `Pool.IsExact`, `Pools.*`, `stress.pool.none_lost.*`, `waiting.two_wait` |\n"

EXAMPLE = """int main() {
  // [snippet]
  int a = 1;
  if (a) {
    run();
  }
  // [/snippet]
}
"""

ARCHITECTURE = """# Map

Start in `object/pool.hpp`; `pool.cpp` has the rest, `scripts/` the commands. A user's own `std::vector` is not ours.
"""


class Docs(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("README.md", README)
        self.write("ARCHITECTURE.md", ARCHITECTURE)
        self.write("docs/tour.md", "# Tour\n\n## The first pool\n\n[back](../README.md)\n")
        self.write("docs/deep/why.md", "# Why\n\n`src/object/pool.cpp` and `app.cpp`, which is a user's.\n")
        self.write("docs/picture.svg", "<svg/>")
        self.write(check_docs.TESTS_PAGE, TESTS)
        self.write("examples/first.cpp", EXAMPLE)
        for name in ("include/lido/object/pool.hpp", "src/object/pool.cpp", "scripts/do.sh"):
            self.write(name, "")
        self.write("tests/pool_test.cpp", "TEST_F(Pool, IsExact) {}\nTYPED_TEST(Pools, OfAllTypes) {}\n")
        self.write("stress/pool/none_lost.cpp", "// stress\n")
        self.write("stress/model/waits.cpp", 'add("waiting", "two_wait");\n')

    def errors(self) -> list[str]:
        return check_docs.check(self.root)[1]

    def seed(self, name: str, old: str, new: str, *parts: str) -> None:
        self.edit(name, old, new)
        self.assert_fault(self.errors(), *parts)

    def test_good_documents_pass(self) -> None:
        self.assert_clean(self.errors())

    def test_changed_block_is_found(self) -> None:
        self.seed("README.md", "int a = 1;", "int a = 2;", "README.md:12", "differs")

    def test_changed_example_is_found(self) -> None:
        self.seed("examples/first.cpp", "  int a = 1;", "  int a = 2;", "differs")

    def test_changed_indentation_is_found(self) -> None:
        self.seed("README.md", "  run();", "    run();", "differs")

    def test_lost_example_is_found(self) -> None:
        (self.root / "examples/first.cpp").unlink()
        errors = self.errors()
        self.assertEqual(len(errors), 2, errors)
        self.assertTrue(any("examples/first.cpp does not exist" in error for error in errors), errors)
        self.assertTrue(any("dead link examples/first.cpp" in error for error in errors), errors)

    def test_lost_link_to_an_example_is_found(self) -> None:
        self.seed("README.md", "[first](examples/first.cpp)", "first", "README.md", "no link to examples/first.cpp")

    def test_lost_region_is_found(self) -> None:
        self.seed("examples/first.cpp", "  // [/snippet]\n", "", "exactly one")

    def test_named_region_is_told_from_others(self) -> None:
        self.edit("examples/first.cpp", "  // [/snippet]\n", "  // [/snippet]\n  // [snippet use]\n  use();\n  // [/snippet]\n")
        self.write("docs/use.md", "# Use\n\n<!-- snippet: examples/first.cpp use -->\n```cpp\nuse();\n```\n\n[first](../examples/first.cpp)\n")
        self.assert_clean(self.errors())
        self.seed("docs/use.md", "use();", "misuse();", "docs/use.md:3", "differs")

    def test_lost_named_region_is_found(self) -> None:
        self.write("docs/use.md", "# Use\n\n<!-- snippet: examples/first.cpp use -->\n```cpp\nuse();\n```\n\n[first](../examples/first.cpp)\n")
        self.assert_fault(self.errors(), "docs/use.md:3", "exactly one // [snippet use]")

    def test_marker_without_a_block_is_found(self) -> None:
        self.seed("README.md", "```cpp\n", "Text.\n\n```cpp\n", "no ```cpp or ```c block")

    def test_dead_link_is_found(self) -> None:
        self.seed("docs/tour.md", "../README.md", "../LEARNME.md", "docs/tour.md:5", "dead link")

    def test_dead_picture_is_found(self) -> None:
        (self.root / "docs/picture.svg").unlink()
        self.assert_fault(self.errors(), "README.md:22", "dead link docs/picture.svg")

    def test_lost_test_is_found(self) -> None:
        self.seed("tests/pool_test.cpp", "IsExact", "IsNearlyExact", "tests.md:3", "no test Pool.IsExact")

    def test_lost_suite_is_found(self) -> None:
        self.seed("tests/pool_test.cpp", "Pools", "Seas", "no test Pools.*")

    def test_lost_driver_and_scenario_are_found(self) -> None:
        self.edit("stress/model/waits.cpp", "two_wait", "three_wait")
        self.assert_fault(self.errors(), "no test waiting.two_wait")
        (self.root / "stress/pool/none_lost.cpp").unlink()
        self.assertTrue(any("no test stress.pool.none_lost.*" in error for error in self.errors()))

    def test_test_named_elsewhere_is_found(self) -> None:
        for name in ("Pool.IsExact", "Pools.*", "stress.pool.none_lost", "mutant.no_tag"):
            self.write("docs/deep/why.md", f"# Why\n\nBecause `{name}` says so.\n")
            self.assert_fault(self.errors(), "docs/deep/why.md:3", f"{name} is a test")

    def test_long_program_is_found(self) -> None:
        for lines in (check_docs.MOST_LINES_OF_PROGRAM, check_docs.MOST_LINES_OF_PROGRAM + 1):
            self.write("README.md", README + "\n```cpp program\n" + "run();\n" * lines + "```\n")
            if lines <= check_docs.MOST_LINES_OF_PROGRAM:
                self.assert_clean(self.errors())
        self.assert_fault(self.errors(), "README.md:24: a program of 16 lines")

    def test_dead_definition_is_found(self) -> None:
        self.seed("README.md", "[ref]: docs/tour.md", "[ref]: docs/detour.md", "dead link")

    def test_dead_anchor_is_found(self) -> None:
        self.seed("docs/tour.md", "## The first pool", "## The second pool", "no heading", "the-first-pool")

    def test_link_out_of_the_tree_is_found(self) -> None:
        self.seed("docs/tour.md", "../README.md", "../../", "dead link")

    def test_lost_file_of_the_text_is_found(self) -> None:
        self.seed("ARCHITECTURE.md", "`object/pool.hpp`", "`object/loop.hpp`", "object/loop.hpp does not exist")

    def test_lost_file_of_another_document_is_found(self) -> None:
        self.seed("docs/deep/why.md", "src/object/pool.cpp", "src/object/loop.cpp", "docs/deep/why.md:3", "does not exist")

    def test_foreign_words_are_found(self) -> None:
        # Put together here, so that this file does not hold them itself.
        for words in (("see /wo", "rk/x"), ("in '/ro", "ot/.cache"), ("/ho", "me/me/lido"), ("from py", "pi.org"), ("ghc", "r.io/x")):
            for name in ("docs/deep/why.md", "src/object/pool.cpp", "scripts/do.sh", "LICENSE"):
                self.write(name, "".join(words) + "\n")
                self.assert_fault(self.errors(), f"{name}:1")
                self.write(name, "")

    def test_harmless_paths_pass(self) -> None:
        self.write("scripts/do.sh", "ls /tmp/x bench/work/x build/root/y $prefix/root/z ~/x\n")
        self.assert_clean(self.errors())


if __name__ == "__main__":
    unittest.main()
