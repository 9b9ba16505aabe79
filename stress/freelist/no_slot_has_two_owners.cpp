/// Tries to break: an index popped from a free list belongs to one thread until it is pushed again.
///
/// The list alone, three indices and no caches, so that a head often returns to an earlier value:
/// what the tag is there for. Ownership is kept in plain variables.
#include <array>
#include <string>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/run.hpp"
#include "lido/freelist/treiber_stack.hpp"

namespace {

constexpr std::uint32_t nodes = 3;
constexpr std::uint64_t operations_per_round = 20'000;

void work(stress::run& run, lido::detail::treiber_stack<>& stack,
          std::array<stress::owned, nodes>& slots, unsigned me, stress::random random) {
  std::vector<lido::detail::slot_index> held;
  std::uint64_t operations = 0;
  for (; operations < operations_per_round; ++operations) {
    if (held.size() < 1 + random() % 2) {
      if (const auto slot = stack.pop(); slot != lido::detail::null_slot) {
        stress::take(run, slots[slot], me);
        held.push_back(slot);
      }
    } else {
      const std::size_t which = random() % held.size();
      std::swap(held[which], held.back());
      stress::leave(run, slots[held.back()], me);
      stack.push(held.back());
      held.pop_back();
    }
  }
  for (const auto slot : held) {
    stress::leave(run, slots[slot], me);
    stack.push(slot);
  }
  run.add_operations(operations);
}

}  // namespace

int main(int argc, char** argv) {
  stress::run_options options;
  stress::command_line line("No slot of a free list has two owners", options);
  line.parse(argc, argv);

  stress::run run(options);
  // Rounds, because a list that has lost its indices breaks no more.
  for (unsigned round = 0; !run.over(); ++round) {
    lido::detail::treiber_stack<> stack(nodes);
    std::array<stress::owned, nodes> slots{};
    for (std::uint32_t slot = 0; slot < nodes; ++slot) {
      stack.push(slot);
    }
    run.in_threads(options.threads, [&](unsigned thread) {
      work(run, stack, slots, thread + 1, run.generator(thread + 1, round));
    });
    std::array<lido::detail::slot_index, nodes + 1> left{};
    if (const std::uint32_t count = stack.pop_chain(left); count != nodes) {
      run.broken(std::to_string(count) + " of " + std::to_string(nodes) + " indices are left");
    }
  }
  return run.held("no_slot_has_two_owners");
}
