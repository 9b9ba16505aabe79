/// The parts of a resource pool that threads share without its mutex, each alone.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "checker/plain.hpp"
#include "lido/resource/factory_hooks.hpp"
#include "lido/resource/idle_cache.hpp"
#include "resource/slot_table.hpp"
#include "scenarios/scenario.hpp"
#include "src/concurrency/wait_word.hpp"

namespace model {

namespace {

using lido::detail::pool_slot;
using lido::detail::resource_state;
using lido::detail::slot_word;
using lido::detail::wait_word;
using ending = wait_word::ending;

// One wait is ended by a thread that hands over, one that stops it, or its time-out. A given item
// is received, and the waiter sees what happened to it before.
void one_end() {
  wait_word word;
  plain<int> item{0};
  int ends = 0;
  bool gave = false;
  const auto end = [&](ending found) {
    ends += found != ending::too_late ? 1 : 0;
    if (found == ending::asleep) {
      lido::detail::unpark(word.address());
    }
  };
  in_threads(
      [&] {
        item.write(1);
        const ending found = word.give();
        gave = found != ending::too_late;
        end(found);
      },
      [&] { end(word.cancel(1)); },
      [&] {
        word.begin_sleep();
        const auto late = lido::detail::deadline::after(std::chrono::hours(1));
        while (word.open()) {
          if (!word.sleep(late)) {
            end(word.cancel(2));
          }
        }
        require(ends == 1, "a wait has ended twice, or not at all");
        require(word.given() == gave, "an item is lost, or given to a waiter without one");
        if (word.given()) {
          require(item.read() == 1, "a waiter does not see its item");
        } else {
          require(word.cause() == 1 || word.cause() == 2, "the cause is lost");
        }
      });
}

// A waiter that is made to look around sleeps again, and the end of its wait still wakes it.
void poked() {
  wait_word word;
  plain<int> item{0};
  in_threads(
      [&] {
        if (word.poke()) {
          lido::detail::unpark(word.address());
        }
        item.write(1);
        if (word.give() == ending::asleep) {
          lido::detail::unpark(word.address());
        }
      },
      [&] {
        while (word.open()) {
          word.begin_sleep();
          (void)word.sleep({});
          word.end_sleep();
        }
        require(item.read() == 1, "a waiter does not see its item");
      });
}

/// An idle_cache without a pool, whose positions the scenario sets.
class shelf : public lido::detail::idle_cache {
 public:
  explicit shelf(lido::detail::pool_gate& gate) : idle_cache(nullptr, gate, nullptr) {}

  /// Takes the first idle slot, or returns null.
  pool_slot* take() {
    return find_maybe_idle([](pool_slot& slot) {
      slot_word ticket;
      return slot.take(ticket);
    });
  }
};

constexpr lido::detail::life_limits no_limits{};

/// A slot that is made late, and its content.
struct late_slot {
  std::optional<pool_slot> slot;
  plain<int> item{0};

  /// Makes the slot, and offers it on the shelf.
  void offer_on(shelf& all) {
    slot.emplace();
    item.write(1);
    require(all.add(*slot), "no memory");
    (void)slot->move(resource_state::idle);
    shelf::set_maybe_idle(*slot, /*on=*/true);
  }
};

// A thread looks for an idle slot while one is offered. The slot that it takes has been made.
void offered() {
  lido::detail::pool_gate gate(no_limits, /*max_total=*/0);
  shelf all(gate);
  late_slot late;
  in_threads([&] { late.offer_on(all); },
             [&] {
               if (all.take() != nullptr) {
                 require(late.item.read() == 1, "a user does not see its resource");
               }
             });
}

// A slot is offered where a chunk of positions is added for it.
void offered_in_new_chunk() {
  lido::detail::pool_gate gate(no_limits, /*max_total=*/0);
  shelf all(gate);
  pool_slot other;
  constexpr int positions = 64;
  for (int i = 0; i < positions; ++i) {
    require(all.add(other), "no memory");
  }
  late_slot late;
  in_threads([&] { late.offer_on(all); },
             [&] {
               if (all.take() != nullptr) {
                 require(late.item.read() == 1, "a user does not see its resource");
               }
             });
}

// A slot leaves its position, and is reused elsewhere, while a thread looks at it.
void removed_beside_search() {
  lido::detail::pool_gate gate(no_limits, /*max_total=*/0);
  shelf all(gate);
  late_slot first;
  first.offer_on(all);
  int taken = 0;
  in_threads(
      [&] {
        slot_word ticket;
        if (first.slot->take(ticket, resource_state::checking)) {
          (void)first.slot->move(resource_state::empty);
          shelf::remove(*first.slot);
          first.item.write(2);
          ++taken;
        }
      },
      [&] {
        if (all.take() != nullptr) {
          require(first.item.read() == 1, "a user has a resource that has ended");
          ++taken;
        }
      });
  require(taken == 1, "an idle slot was taken twice, or not at all");
}

// A mark races a release: either the release or the mark fails.
void mark_against_put_back() {
  pool_slot slot;
  const slot_word ticket = slot.move(resource_state::in_use);
  plain<int> item{0};
  bool marked = false;
  bool idle = false;
  bool taken = false;
  in_threads(
      [&] {
        item.write(1);
        idle = slot.put_back(ticket);
      },
      [&] {
        slot_word mine;
        marked = slot.mark();
        taken = !marked && slot.take(mine);
        if (taken) {
          require(item.read() == 1, "a user does not see the use before");
        }
      });
  require(marked != idle, "a mark and a release have both succeeded, or both failed");
  require(taken == idle, "a slot that came back before the mark is not idle");
}

// Slots are added while a thread looks at all of them.
void appended_beside_search() {
  struct thing {};
  lido::detail::pool_slot_table table(&lido::detail::make_slots<thing>, 1);
  in_threads([&] { table.append(table.make_more(2)); },
             [&] {
               std::uint32_t seen = 0;
               table.for_each([&](const pool_slot& slot) {
                 require(slot.state() == resource_state::empty, "a slot is not made yet");
                 ++seen;
               });
               require(seen == 1 || seen == 2, "a slot was passed by, or seen twice");
             });
}

constexpr scenario meet(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, bounds{}, /*waits=*/false};
}
constexpr scenario waits(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, bounds{}, /*waits=*/true};
}

constexpr std::array pool_parts_list{
    waits("pool_parts.one_end", "one wait has one end", &one_end),
    waits("pool_parts.poked", "a waiter looks around", &poked),
    meet("pool_parts.offered", "a slot is offered beside a search", &offered),
    meet("pool_parts.offered_in_new_chunk", "the same with new positions", &offered_in_new_chunk),
    meet("pool_parts.removed_beside_search", "a slot leaves beside a search",
         &removed_beside_search),
    meet("pool_parts.mark_against_put_back", "a mark beside a release", &mark_against_put_back),
    meet("pool_parts.appended_beside_search", "slots are added beside a look at all",
         &appended_beside_search),
};

}  // namespace

std::span<const scenario> pool_parts_scenarios() {
  return pool_parts_list;
}

}  // namespace model
