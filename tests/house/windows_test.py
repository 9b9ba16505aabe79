"""check_windows passes where a window has its schedule point and fails where it has none."""
import unittest

from tree import TreeTest

import check_windows

LOOP = """void f() noexcept {
  auto seen = word.load(relaxed);
  for (;;) {
    schedule_point();
    // (1) - this release-CAS synchronizes-with the acquire-load (2)
    if (word.compare_exchange_weak(seen, seen + 1, release, relaxed)) {
      return;
    }
  }
}
"""
ONCE = """bool f() noexcept {
  auto seen = word.load(relaxed);
  schedule_point();
  return word.compare_exchange_strong(seen, 1, release, relaxed);
}
"""


class Windows(TreeTest):
    def errors(self) -> list[str]:
        return check_windows.check(self.root)[1]

    def test_points_in_their_windows_pass(self) -> None:
        self.write("include/lido/a.hpp", LOOP)
        self.write("src/b.cpp", ONCE)
        self.assert_clean(self.errors())

    def test_missing_point_is_rejected(self) -> None:
        self.write("src/a.cpp", ONCE.replace("  schedule_point();\n", ""))
        self.assert_fault(self.errors(), "src/a.cpp:3", "no schedule_point()")

    def test_point_in_a_comment_is_none(self) -> None:
        self.write("src/a.cpp", ONCE.replace("schedule_point();", "// schedule_point();"))
        self.assert_fault(self.errors(), "no schedule_point()")

    def test_point_far_above_is_none(self) -> None:
        self.write("src/a.cpp", ONCE.replace("schedule_point();\n", "schedule_point();\n" + "  f();\n" * 14))
        self.assert_fault(self.errors(), "src/a.cpp:18", "14 lines")

    def test_point_before_the_loop_is_rejected(self) -> None:
        self.write("src/a.cpp", LOOP.replace("    schedule_point();\n", "").replace("  for", "  schedule_point();\n  for"))
        self.assert_fault(self.errors(), "src/a.cpp:6", "outside the loop")

    def test_head_of_a_loop_is_rejected(self) -> None:
        self.write(
            "src/a.cpp",
            "void f() {\n  schedule_point();\n  while (!word.compare_exchange_weak(seen, 1, release, relaxed)) {\n  }\n}\n",
        )
        self.assert_fault(self.errors(), "src/a.cpp:3", "head of a loop")

    def test_loop_around_a_lambda_does_not_count(self) -> None:
        self.write("src/a.cpp", "void g() {\n  for (;;) {\n    h([] {\n" + ONCE.split("\n", 1)[1].rsplit("}", 1)[0] + "    });\n  }\n}\n")
        self.assert_clean(self.errors())

    def test_seam_and_test_atomics_are_exempt(self) -> None:
        self.write("include/lido/concurrency/atomic.hpp", ONCE.replace("schedule_point();", ""))
        self.write("include/lido/testing/a.hpp", ONCE.replace("schedule_point();", ""))
        self.write("tests/a.cpp", ONCE.replace("schedule_point();", ""))
        self.assert_clean(self.errors())


if __name__ == "__main__":
    unittest.main()
