"""check_common.Outline, which counts braces, sees the blocks and statements of C++."""
import unittest

import tree  # noqa: F401  # finds the checkers

from check_common import Outline, line_of

SHAPES = """
namespace a::b {
template <class T>
  requires foo<T>
class box : public base<int> {
 public:
  explicit box(int n) : n_{n}, m_(n) { run(); }
  box& operator=(const box&) = delete;
  [[nodiscard]] auto at(int i) const noexcept -> const T& {
    if (i > 1'000) { return zero; }
    for (auto& x : xs) { x = {1, 2}; }
    return call([&](int k) { return k; }, std::array{1, 2});
  }
  T operator[](int i) const { return xs[i]; }
 private:
  int n_{0};
  std::atomic<int> m_ = {1};
};
class alignas(sizeof(int) * 2) [[nodiscard]] wide : a {
  [[nodiscard, gnu::always_inline]] bool pop(int& i) noexcept { return i > 0; }
};
template <class T>
  requires(sizeof(T) > 1)
struct odd { explicit odd(T t) : t_{t} { if constexpr (requires { t(); }) { t(); } } T t_; };
enum class kind : int { one, two };
extern "C" {
void* plain(void) { return nullptr; }
}
TEST(Suite, Name) { auto s = "} not a brace {"; /* } */ char c = '}'; }
const auto raw = R"x( } )x";
}  // namespace a::b
"""


class Blocks(unittest.TestCase):
    def test_functions_are_told_from_other_braces(self) -> None:
        outline = Outline(SHAPES)
        heads = [SHAPES[b.head : b.open].split("(")[0].split()[-1] for b in outline.functions()]
        self.assertEqual(heads, ["box", "at", "operator[]", "pop", "odd", "plain", "TEST"])

    def test_nothing_is_misread(self) -> None:
        self.assertEqual(Outline(SHAPES).misread, [])

    def test_every_block_is_closed_on_its_own_line(self) -> None:
        outline = Outline(SHAPES)
        self.assertTrue(all(b.close > b.open for b in outline.blocks))
        at = next(b for b in outline.functions() if "at(int" in SHAPES[b.head : b.open])
        self.assertEqual(line_of(SHAPES, at.close) - line_of(SHAPES, at.open), 4)

    def test_statement_starts_before_its_first_line_break(self) -> None:
        text = "void f() {\n  auto x{\n      a.load(1)};\n  g(\n    2);\n}\n"
        outline = Outline(text)
        self.assertEqual(line_of(text, outline.statement(text.index("load"))[0]), 2)
        self.assertEqual(line_of(text, outline.statement(text.index("2);"))[0]), 4)

    def test_for_header_is_one_statement(self) -> None:
        text = "void f() {\n  for (int i = 0;\n       i < n;\n       ++i) {\n    g();\n  }\n}\n"
        outline = Outline(text)
        self.assertEqual(line_of(text, outline.statement(text.index("++i"))[0]), 2)

    def test_statement_goes_on_behind_a_lambda_and_a_directive(self) -> None:
        text = "void f() {\n  g([] { h(); },\n#if A\n    1,\n#endif\n    tail);\n}\n"
        outline = Outline(text)
        self.assertEqual(line_of(text, outline.statement(text.index("tail"))[0]), 2)


if __name__ == "__main__":
    unittest.main()
