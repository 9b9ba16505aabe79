/// The free list alone: interleavings S1 to S5, and what else two or three threads can do to one
/// head.
#include <algorithm>
#include <array>

#include "scenarios/ledger.hpp"
#include "scenarios/scenario.hpp"
#include "src/freelist/treiber_list.hpp"

namespace model {

namespace {

using lido::detail::null_slot;
using lido::detail::slot_index;

/// A list that contains all indices, and its books.
class listed {
 public:
  explicit listed(std::uint32_t nodes, unsigned tag_bits = 64)
      : list_(nodes, /*first=*/0, lido::detail::growth::none, tag_bits), books_(nodes) {}

  slot_index pop() {
    const auto began = books_.begin();
    const slot_index found = list_.pop();
    if (found == null_slot) {
      books_.refused(began);
    } else {
      books_.got(found, began);
    }
    return found;
  }

  void push(slot_index node) {
    if (node != null_slot) {
      books_.gives(node);
      list_.push(node);
      books_.gave(node);
    }
  }

  void pop_and_push() { push(pop()); }

  /// Pops up to two at once, and pushes them back at once.
  void move_chain() {
    std::array<slot_index, 2> chain{};
    const auto began = books_.begin();
    const std::uint32_t count = list_.pop_chain(chain);
    for (std::uint32_t i = 0; i < count; ++i) {
      books_.got(chain.at(i), began);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      books_.gives(chain.at(i));
    }
    list_.push_chain(std::span(chain).first(count));
    for (std::uint32_t i = 0; i < count; ++i) {
      books_.gave(chain.at(i));
    }
  }

  /// Checks, when all threads have ended, that each index is in the list once.
  void check() {
    std::size_t left = 0;
    while (pop() != null_slot && left <= books_.capacity()) {
      ++left;
    }
    require(left == books_.capacity(), "an index is lost");
    books_.check_refusals();
  }

 private:
  lido::detail::treiber_list list_;
  ledger books_;
};

template <unsigned TagBits>
void aba() {
  listed list(3, TagBits);
  in_threads([&] { list.pop_and_push(); },
             [&] {
               const slot_index first = list.pop();
               const slot_index second = list.pop();
               list.push(first);
               list.push(second);
             });
  list.check();
}

void pop_against_push() {
  listed list(2);
  const slot_index held = list.pop();
  in_threads([&] { list.push(held); },
             [&] {
               list.pop_and_push();
               list.pop_and_push();
             });
  list.check();
}

void three_threads() {
  listed list(2);
  const auto body = [&] { list.pop_and_push(); };
  in_threads(body, body, [&] {
    list.pop_and_push();
    list.pop_and_push();
  });
  list.check();
}

// A push that takes its tag from its first attempt turns the tag back. Later pushes then lead to a
// head that a pop has seen before (iceoryx had this bug for five years).
void tag_of_each_attempt() {
  listed list(3);
  const slot_index late = list.pop();
  const slot_index first = list.pop();
  const slot_index second = list.pop();
  in_threads([&] { list.push(late); }, [&] { list.pop_and_push(); },
             [&] {
               list.push(first);
               list.push(second);
               execution::now().rest();
               const slot_index upper = list.pop();
               const slot_index lower = list.pop();
               execution::now().rest();
               list.push(upper);
               execution::now().rest();
               list.push(lower);
             });
  list.check();
}

void chain_against_chain() {
  listed list(4);
  in_threads([&] { list.move_chain(); },
             [&] {
               list.move_chain();
               list.pop_and_push();
             });
  list.check();
}

void chain_against_single() {
  listed list(3);
  in_threads([&] { list.move_chain(); },
             [&] {
               const slot_index first = list.pop();
               list.pop_and_push();
               list.push(first);
             });
  list.check();
}

constexpr std::array freelist_list{
    scenario{"freelist.aba", "a head that has been away and is back (S1)", &aba<64>},
    scenario{"freelist.aba_one_bit", "the same with a tag of one bit: must be found (S4)", &aba<1>,
             /*must_fail=*/true},
    scenario{"freelist.pop_against_push", "links and contents of what was pushed (S2, S5)",
             &pop_against_push},
    scenario{"freelist.three_threads", "pops and pushes of three threads", &three_threads},
    scenario{"freelist.tag_of_each_attempt", "a push that fails takes the next tag (S3)",
             &tag_of_each_attempt, false, bounds{2, 1, 0}},
    scenario{"freelist.chain_against_chain", "chains are linked before they are seen (S6)",
             &chain_against_chain},
    scenario{"freelist.chain_against_single", "a chain is walked while its nodes are popped (S6)",
             &chain_against_single},
};

}  // namespace

std::span<const scenario> freelist_scenarios() {
  return freelist_list;
}

}  // namespace model
