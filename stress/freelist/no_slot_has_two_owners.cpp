/// Tries to break: an index popped from a free list belongs to one thread until it is pushed again.
///
/// The list alone, three indices and no caches, so that a head often returns to an earlier value,
/// which is what the tag is for. Ownership is recorded in plain variables.
#include <array>
#include <string>
#include <vector>

#include "harness/driver.hpp"
#include "harness/ledger.hpp"
#include "src/freelist/treiber_list.hpp"

namespace {

constexpr std::uint32_t nodes = 3;
constexpr std::uint64_t operations_per_round = 20'000;

/// One thread's turn at the list, with at most two indices in hand.
class worker {
 public:
  worker(stress::run& run, lido::detail::treiber_list& list,
         std::array<stress::owned, nodes>& slots, unsigned me)
      : run_(run), list_(list), slots_(slots), me_(me) {}

  void work(stress::random random) {
    for (std::uint64_t operation = 0; operation < operations_per_round; ++operation) {
      if (held_.size() < 1 + random() % 2) {
        pop();
      } else {
        std::swap(held_[random() % held_.size()], held_.back());
        push();
      }
    }
    while (!held_.empty()) {
      push();
    }
    run_.add_operations(operations_per_round);
  }

 private:
  void pop() {
    if (const auto slot = list_.pop(); slot != lido::detail::null_slot) {
      stress::take(run_, slots_[slot], me_);
      held_.push_back(slot);
    }
  }

  void push() {
    stress::leave(run_, slots_[held_.back()], me_);
    list_.push(held_.back());
    held_.pop_back();
  }

  stress::run& run_;
  lido::detail::treiber_list& list_;
  std::array<stress::owned, nodes>& slots_;
  unsigned me_;
  std::vector<lido::detail::slot_index> held_;
};

struct no_slot_has_two_owners : stress::driver {
  no_slot_has_two_owners() : driver("no_slot_has_two_owners") {}

  // A list of its own, because one that has lost its indices can break nothing more.
  void round(stress::run& run, unsigned number) override {
    lido::detail::treiber_list list(nodes, /*first=*/0, lido::detail::growth::none);
    std::array<stress::owned, nodes> slots{};
    run.in_threads(threads(), [&](unsigned thread) {
      worker(run, list, slots, thread + 1).work(run.generator(thread + 1, number));
    });
    std::array<lido::detail::slot_index, nodes + 1> left{};
    if (const std::uint32_t count = list.pop_chain(left); count != nodes) {
      run.broken(std::to_string(count) + " of " + std::to_string(nodes) + " indices are left");
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return no_slot_has_two_owners().drive(argc, argv);
}
