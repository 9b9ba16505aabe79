"""check_docs passes on good documents and fails on each seeded fault."""
import unittest

from tree import TreeTest

import check_docs

README = """# Lido

See the [tour](docs/tour.md#the-first-pool "a tour"), the [`code`](src/), [the web](https://example.org/x)
and [below](#sample-code); `Pool.IsExact` and `Pools.OfAllTypes` show it. Not links: `[a](b)` and

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
"""

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

Start in `object/pool.hpp`; `pool.cpp` has the rest. A user's own `std::vector` is not ours.

```
include/lido/        headers
  object/            objects
    pool.hpp         the pool
  {one,two}.hpp      entries
src/object/pool.cpp  what is compiled
scripts/do.sh
```

```text
docs/
├── tour.md      first steps
└── deep/
    └── why.md   reasons
```

```cpp
missing.hpp
```
"""


class Docs(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("README.md", README)
        self.write("ARCHITECTURE.md", ARCHITECTURE)
        self.write("docs/tour.md", "# Tour\n\n## The first pool\n\n[back](../README.md)\n")
        self.write("docs/deep/why.md", "# Why\n")
        self.write("examples/first.cpp", EXAMPLE)
        for name in ("include/lido/object/pool.hpp", "include/lido/one.hpp", "include/lido/two.hpp", "src/object/pool.cpp", "scripts/do.sh"):
            self.write(name, "")
        self.write("tests/pool_test.cpp", "TEST_F(Pool, IsExact) {}\nTYPED_TEST(Pools, OfAllTypes) {}\n")

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
        self.assert_fault(self.errors(), "examples/first.cpp does not exist")

    def test_lost_region_is_found(self) -> None:
        self.seed("examples/first.cpp", "  // [/snippet]\n", "", "exactly one")

    def test_marker_without_a_block_is_found(self) -> None:
        self.seed("README.md", "```cpp\n", "Text.\n\n```cpp\n", "no ```cpp block")

    def test_dead_link_is_found(self) -> None:
        self.seed("docs/tour.md", "../README.md", "../LEARNME.md", "docs/tour.md:5", "dead link")

    def test_lost_test_is_found(self) -> None:
        self.seed("tests/pool_test.cpp", "IsExact", "IsNearlyExact", "README.md:4", "no test Pool.IsExact")

    def test_dead_definition_is_found(self) -> None:
        self.seed("README.md", "[ref]: docs/tour.md", "[ref]: docs/detour.md", "dead link")

    def test_dead_anchor_is_found(self) -> None:
        self.seed("docs/tour.md", "## The first pool", "## The second pool", "no heading", "the-first-pool")

    def test_link_out_of_the_tree_is_found(self) -> None:
        self.seed("docs/tour.md", "../README.md", "../../", "dead link")

    def test_lost_file_of_the_tree_is_found(self) -> None:
        (self.root / "include/lido/two.hpp").unlink()
        self.assert_fault(self.errors(), "the tree names include/lido/two.hpp")

    def test_lost_file_of_a_drawn_tree_is_found(self) -> None:
        (self.root / "docs/deep/why.md").unlink()
        self.assert_fault(self.errors(), "the tree names docs/deep/why.md")

    def test_header_or_script_that_the_tree_lacks_is_found(self) -> None:
        for name in ("include/lido/object/lease.hpp", "scripts/new.py"):
            self.write(name, "")
            self.assert_fault(self.errors(), f"the tree lacks {name}")
            (self.root / name).unlink()

    def test_lost_file_of_the_text_is_found(self) -> None:
        self.seed("ARCHITECTURE.md", "`object/pool.hpp`", "`object/loop.hpp`", "object/loop.hpp does not exist")

    def test_rules_and_what_was_tried_on_them_are_the_same(self) -> None:
        self.write("stress/model/mutants/rules.cpp", 'rule{mutation::no_tag, "a"},\nrule{mutation::late_end,\n"b"},\n')
        self.write("docs/plain_stress.json", '{"rules": {"no_tag": {}, "late_end": {}}}')
        self.assert_clean(self.errors())
        self.write("docs/plain_stress.json", '{"rules": {"no_tag": {}}}')
        self.assert_fault(self.errors(), "late_end is not in it")
        self.write("docs/plain_stress.json", '{"rules": {"no_tag": {}, "late_end": {}, "gone": {}}}')
        self.assert_fault(self.errors(), "no rule gone")

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
