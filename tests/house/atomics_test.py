"""check_atomics passes on a good tree and fails on each seeded fault in notes, orders and the seam."""
import unittest

from tree import TreeTest

import check_atomics

STACK = """#include "lido/concurrency/atomic.hpp"
/// Memory ordering: push (1) -> pop (2, 3). O(1).
class stack {
 public:
  void push(int n) {
    // relaxed: only a guess, validated by (1)
    int head = head_.load(std::memory_order_relaxed);
    do {
      link(n) = head;
      // (1) - this release-CAS synchronizes-with the acquire-load (2) and the acq_rel-CAS (3), so
      // the link is visible. On failure relaxed: nothing is read through the head.
    } while (!head_.compare_exchange_weak(head, n,
                                          std::memory_order_release, std::memory_order_relaxed));
  }
  int pop() {
    // (2) - this acquire-load synchronizes-with the release-CAS (1)
    int head{
        head_.load(std::memory_order_acquire)};
    // (3) - this acq_rel-CAS synchronizes-with the release-CAS (1)
    while (!head_.compare_exchange_weak(head, link(head), std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
    }
    return head;
  }
  int count() const {
    int sum = 0;
    // relaxed: counters nobody orders by
    for (const auto& one : counters_) {
      sum += one.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  atomic<int> head_{0};
  std::array<atomic<int>, 4> counters_{};
};
"""

FLAG = """#include "lido/flag.hpp"
// relaxed (whole function): the owner alone calls it
void flag::reset() {
  a_.store(0, std::memory_order_relaxed);
  if (b_ != 0) {
    b_.store(0, std::memory_order_relaxed);
  }
}
// relaxed (2x): the owner alone calls it
int flag::both() { return a_.load(std::memory_order_relaxed) + b_.load(std::memory_order_relaxed); }
void flag::set() {
  // relaxed (2x): published by (1)
  a_.store(1, std::memory_order_relaxed);
  b_.store(1, std::memory_order_relaxed);
  // (1) - this seq_cst-fence is in one total order with fence.cpp (1)
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
"""

FENCE = """void heavy() {
  // (1) - this seq_cst-fence, run by the kernel, is in one total order with `base/flag.cpp` (1).
  membarrier();
}
"""


class Atomics(TreeTest):
    STACK = "include/lido/freelist/stack.hpp"
    FLAG = "src/base/flag.cpp"
    FENCE = "src/concurrency/fence.cpp"

    def setUp(self) -> None:
        super().setUp()
        self.write("include/lido/concurrency/atomic.hpp", "#include <atomic>\ntemplate <class T> using atomic = std::atomic<T>;\n")
        self.write(self.STACK, STACK)
        self.write(self.FLAG, FLAG.replace("std::atomic_", "atomic_"))
        self.write(self.FENCE, FENCE)

    def errors(self) -> list[str]:
        return check_atomics.check(self.root)[1]

    def seed(self, name: str, old: str, new: str, *parts: str) -> None:
        """Checks that one fault gives one message."""
        self.edit(name, old, new)
        self.assert_fault(self.errors(), *parts)

    def body(self, code: str) -> list[str]:
        """Returns the findings in one function with this body."""
        self.write("src/base/body.cpp", f"void f() {{\n{code}\n}}\n")
        return self.errors()


class Good(Atomics):
    def test_tree_passes(self) -> None:
        self.assert_clean(self.errors())

    def test_every_spelling_of_an_order_is_read(self) -> None:
        for prefix in ("std::memory_order_", "std::memory_order::", "memory_order::", "lido::detail::", ""):
            self.assert_clean(self.body(f"// relaxed: a counter\nn.fetch_add(1, {prefix}relaxed);"))
            self.assert_fault(self.body(f"n.store(1, {prefix}release);"), "no note")
            self.assert_fault(self.body(f"n.fetch_add(1, {prefix}relaxed);"), "relaxed without a reason")

    def test_functions_named_like_orders_are_no_orders(self) -> None:
        self.assert_clean(self.body("pool.release(p); auto q = pool.acquire(1); g(release, acquire);"))

    def test_order_handed_on_is_no_default(self) -> None:
        self.assert_clean(self.body("n.store(1, order); n.load(order); if (order == std::memory_order_acquire) g();"))

    def test_constants_and_comments_are_no_accesses(self) -> None:
        self.assert_clean(self.body("constexpr auto acquire = std::memory_order_acquire; // n.load(std::memory_order_acquire)"))

    def test_loads_and_stores_of_other_things_are_no_accesses(self) -> None:
        self.assert_clean(self.body("archive.load(path); archive.store(a, b); std::exchange(a, b); v.clear();"))

    def test_header_and_source_share_numbers(self) -> None:
        self.write("include/lido/base/pair.hpp", "// (1) - this acquire-load synchronizes-with the release-store (2)\nint a = n.load(std::memory_order_acquire);\n")
        self.write("src/base/pair.cpp", "// (2) - this release-store synchronizes-with the acquire-load (1)\nauto b = [] { n.store(1, std::memory_order_release); };\n")
        self.assert_clean(self.errors())


    def test_number_mentioned_in_passing_is_no_partner(self) -> None:
        self.edit(self.STACK, "(2) - this acquire-load synchronizes-with the release-CAS (1)",
                  "(2) - this acquire-load synchronizes-with the release-CAS (1), as (3) does")
        self.assert_clean(self.errors())


class Notes(Atomics):
    def test_lost_note_is_found(self) -> None:
        self.edit(self.STACK, "    // (2) - this acquire-load synchronizes-with the release-CAS (1)\n", "")
        errors = self.errors()
        self.assertIn("stack.hpp:17: no note '(n) - this acquire-load", errors[0])
        self.assertTrue(any("names (2), which does not exist" in error for error in errors))

    def test_note_with_a_gap_below_is_found(self) -> None:
        self.edit(self.STACK, "    int head{\n", "\n    int head{\n")
        self.assertTrue(any("no note" in error for error in self.errors()))

    def test_note_with_another_order_is_found(self) -> None:
        self.edit(self.STACK, "head_.load(std::memory_order_acquire)", "head_.load(std::memory_order_seq_cst)")
        self.assertTrue(any("no note '(n) - this seq_cst-load" in error for error in self.errors()))

    def test_note_above_a_weakened_access_is_found(self) -> None:
        self.edit(self.STACK, "head_.load(std::memory_order_acquire)", "head_.load(std::memory_order_relaxed)")
        errors = self.errors()
        self.assertTrue(any("relaxed without a reason" in error for error in errors))
        self.assertTrue(any("(2) stands above no acquire-load" in error for error in errors))

    def test_one_note_for_two_operations_is_found(self) -> None:
        old = "    int head{\n        head_.load(std::memory_order_acquire)};"
        new = "    int head = head_.load(std::memory_order_acquire) + b_.load(std::memory_order_acquire);"
        self.seed(self.STACK, old, new, "2 ordered operations", "1 notes")

    def test_one_sided_pair_is_found(self) -> None:
        self.seed(self.STACK, "the acquire-load (2) and the acq_rel-CAS (3)", "the acq_rel-CAS (3)", "(2) names (1)", "not name it back")

    def test_note_without_a_partner_is_found(self) -> None:
        self.write(self.FENCE, FENCE.replace("is in one total order with `base/flag.cpp` (1)", "is strong"))
        self.assertTrue(any("names no partner" in error for error in self.errors()))

    def test_malformed_note_is_found(self) -> None:
        self.edit(self.STACK, "(2) - this acquire-load synchronizes-with", "(2) - reads after")
        self.assertTrue(any("does not begin 'this <order>-<operation>'" in error for error in self.errors()))

    def test_wrong_order_of_the_partner_is_found(self) -> None:
        self.seed(self.STACK, "(3) - this acq_rel-CAS synchronizes-with the release-CAS", "(3) - this acq_rel-CAS synchronizes-with the acquire-CAS", "calls (1) acquire")

    def test_two_acquires_cannot_pair(self) -> None:
        self.write(self.STACK, STACK.replace("load synchronizes-with the release-CAS (1)", "load synchronizes-with the acq_rel-CAS (3)")
                   .replace("the acquire-load (2) and the acq_rel-CAS (3)", "the acq_rel-CAS (3)")
                   .replace("acq_rel-CAS synchronizes-with the release-CAS (1)", "acquire-CAS synchronizes-with the release-CAS (1) and (2)"))
        self.assertTrue(any("acquire cannot synchronize with acquire" in error for error in self.errors()))

    def test_numbers_out_of_order_are_found(self) -> None:
        text = STACK.replace("(2)", "(9)").replace("(2,", "(9,")
        self.write(self.STACK, text)
        self.assert_fault(self.errors(), "(3) comes after (9)")

    def test_full_fence_needs_a_note(self) -> None:
        self.write("include/lido/concurrency/atomic.hpp", "#include <atomic>\nvoid full_fence() noexcept;\n")
        self.assert_clean(self.errors())
        self.assert_fault(self.body("full_fence();"), "body.cpp:2", "no note '(n) - this seq_cst-fence")
        self.assert_clean(self.body("// (1) - this seq_cst-fence is in one total order with the seq_cst-fence (2)\nfull_fence();\n"
                                    "// (2) - this seq_cst-fence is in one total order with the seq_cst-fence (1)\nfull_fence();"))

    def test_number_of_two_full_fences_is_found(self) -> None:
        fence = "// (1) - this seq_cst-fence is in one total order with itself, the seq_cst-fence (1)\nfull_fence();\n"
        self.assertTrue(any("body.cpp:4: (1) is there twice" in error for error in self.body(fence + fence)))

    def test_number_used_twice_is_found(self) -> None:
        self.edit(self.STACK, "// (3) - this", "// (2) - this")
        self.assertTrue(any("(2) is there twice" in error for error in self.errors()))

    def test_one_sided_pair_across_files_is_found(self) -> None:
        self.write("src/concurrency/late.cpp", FENCE)
        self.assert_fault(self.errors(), "late.cpp:2: (1) names flag.cpp (1)", "not name it back")

    def test_dangling_file_is_found(self) -> None:
        self.edit(self.FLAG, "fence.cpp (1)", "hedge.cpp (1)")
        self.assertTrue(any("hedge.cpp is no file" in error for error in self.errors()))

    def test_dangling_number_across_files_is_found(self) -> None:
        self.edit(self.FLAG, "fence.cpp (1)", "fence.cpp (7)")
        self.assertTrue(any("fence.cpp (7), which does not exist" in error for error in self.errors()))

    def test_ambiguous_file_is_found(self) -> None:
        self.write("src/base/fence.cpp", "")
        self.assertTrue(any("more than one file" in error for error in self.errors()))


class Relaxed(Atomics):
    def test_lost_reason_is_found(self) -> None:
        self.seed(self.STACK, "    // relaxed: only a guess, validated by (1)\n", "", "stack.hpp:6: relaxed without a reason")

    def test_empty_reason_is_found(self) -> None:
        self.seed(self.STACK, "// relaxed: only a guess, validated by (1)", "// relaxed:", "relaxed without a reason")

    def test_lost_reason_of_a_loop_is_found(self) -> None:
        self.seed(self.STACK, "    // relaxed: counters nobody orders by\n", "", "relaxed without a reason")

    def test_lost_reason_of_a_function_is_found(self) -> None:
        self.edit(self.FLAG, "// relaxed (whole function): the owner alone calls it\n", "")
        self.assertEqual(len(self.errors()), 2)

    def test_plain_reason_does_not_cover_a_function(self) -> None:
        self.edit(self.FLAG, "// relaxed (whole function): the", "// relaxed: the")
        self.assertEqual(len(self.errors()), 2)

    def test_reason_for_two_does_not_cover_three(self) -> None:
        self.seed(self.FLAG, "  b_.store(1, std::memory_order_relaxed);\n",
                  "  b_.store(1, std::memory_order_relaxed);\n  c_.store(1, std::memory_order_relaxed);\n", "flag.cpp:15")

    def test_plain_reason_does_not_cover_the_next_statement(self) -> None:
        self.seed(self.FLAG, "relaxed (2x): published", "relaxed: published", "flag.cpp:14")

    def test_failure_order_needs_a_word(self) -> None:
        self.seed(self.STACK, " On failure relaxed: nothing is read through the head.", "", "relaxed without a reason")

    def test_reason_for_two_does_not_reach_into_a_block(self) -> None:
        self.edit(self.FLAG, "  b_.store(1, std::memory_order_relaxed);\n", "  if (x) {\n    b_.store(1, std::memory_order_relaxed);\n  }\n")
        self.assert_fault(self.errors(), "flag.cpp:15")

    def test_reason_that_names_a_lost_note_is_found(self) -> None:
        self.seed(self.STACK, "validated by (1)", "validated by (8)", "the reason names (8), which does not exist")


class Orders(Atomics):
    def test_defaulted_orders_are_found(self) -> None:
        for call in ("load()", "store(1)", "exchange(g(1, 2))", "fetch_add(1)", "fetch_or(2)", "test_and_set()"):
            self.assert_fault(self.body(f"n.{call};"), "defaulted memory order")
            self.assert_fault(self.body(f"p->{call};"), "defaulted memory order")

    def test_defaulted_failure_order_is_found(self) -> None:
        self.assert_fault(self.body("n.compare_exchange_weak(a, b);"), "defaulted memory order")
        note = "// relaxed: a counter\n"
        self.assert_fault(self.body(note + "n.compare_exchange_strong(a, b, std::memory_order_relaxed);"), "defaulted")

    def test_operators_are_found(self) -> None:
        for code in ("++head_;", "head_--;", "head_ += 2;", "return head_ = 1;"):
            self.write(self.STACK, STACK.replace("    int sum = 0;", f"    int sum = 0; {code}"))
            self.assert_fault(self.errors(), "an operator on the atomic head_")

    def test_braces_that_are_misread_are_said(self) -> None:
        self.assert_fault(self.body("odd words { g(); };"), "takes the braces")

    def test_consume_is_found(self) -> None:
        self.assert_fault(self.body("n.load(std::memory_order_consume);"), "consume")

    def test_order_in_an_unknown_call_is_found(self) -> None:
        self.assert_fault(self.body("publish(n, std::memory_order_release);"), "no note '(n) - this release-operation")

    def test_include_past_the_seam_is_found(self) -> None:
        self.seed(self.STACK, '#include "lido/concurrency/atomic.hpp"', "#include <atomic>", "<atomic> belongs into atomic.hpp")

    def test_name_past_the_seam_is_found(self) -> None:
        self.assert_fault(self.body("std::atomic<int> n{0};"), "past the seam")
        self.assert_fault(self.body("__atomic_load_n(&n, 0);"), "past the seam")


if __name__ == "__main__":
    unittest.main()
