/// The free slots of a concurrent slot map, and the end of its walks, which one thread lowers while
/// others insert and erase.
#include <array>
#include <cstdint>
#include <vector>

#include "checker/plain.hpp"
#include "lido/slot_map/slot_state.hpp"
#include "lido/slot_map/slot_supply.hpp"
#include "scenarios/ledger.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using lido::detail::slot_geometry;

constexpr std::size_t most_slots = 3;
constexpr std::size_t stride = 64;
constexpr std::size_t nothing = ~std::size_t{0};

alignas(64) std::array<std::byte, stride * most_slots> storage;  // NOLINT: addresses, never written

/// A map that has values without contents.
class supplied {
 public:
  explicit supplied(std::uint32_t capacity)
      : supply_(geometry(), capacity, /*max_cached=*/2), books_(capacity) {}

  std::size_t insert() {
    const auto began = books_.begin();
    const void* const place = supply_.take();
    if (place == nullptr) {
      books_.refused(began);
      return nothing;
    }
    const std::uint32_t slot = geometry().index_of(place);
    books_.got(slot, began);
    memory_.at(slot).write(true);
    supply_.raise_end(slot);
    see(slot);
    return slot;
  }

  void erase(std::size_t slot) {
    if (slot != nothing) {
      see(slot);
      books_.gives(slot);
      supply_.give_back(geometry().address_of(static_cast<lido::detail::slot_index>(slot)));
      books_.gave(slot);
    }
  }

  void use(std::size_t count) {
    std::vector<std::size_t> held;
    while (held.size() < count) {
      held.push_back(insert());
      require(held.back() != nothing, "an insert failed although there are slots for all");
    }
    for (const std::size_t slot : held) {
      erase(slot);
    }
  }

  void shrink() {
    supply_.lower_end([this](std::uint32_t end, std::uint32_t /*before*/, const auto& note) {
      for (std::size_t slot = end; slot < books_.capacity(); ++slot) {
        memory_.at(slot).write(false);
        note();
      }
    });
  }

  /// After all threads: everything can be used at once by a thread that comes last.
  void check() {
    books_.check_refusals();
    require(supply_.stats().in_use == 0, "the numbers of the map do not say what is in use");
    in_threads([&] { use(books_.capacity()); });
    shrink();
    require(supply_.end() == 0, "a free slot was not found");
  }

 private:
  static slot_geometry geometry() { return {storage.data(), stride}; }

  /// What whoever has a value relies on.
  void see(std::size_t slot) {
    require(supply_.end() > slot, "a walk would not come to a value");
    require(memory_.at(slot).read(), "the memory of a value was given back");
  }

  lido::detail::slot_supply supply_;
  ledger books_;
  std::array<plain<bool>, most_slots> memory_;
};

void shrink_against_insert() {
  supplied map(2);
  in_threads([&] { map.use(1); }, [&] { map.shrink(); });
  map.check();
}

// As many are wanted as there are.
void shrink_against_last_insert() {
  supplied map(2);
  in_threads([&] { map.use(2); }, [&] { map.shrink(); });
  map.check();
}

void shrink_beside_two() {
  supplied map(3);
  in_threads([&] { map.use(1); }, [&] { map.use(2); }, [&] { map.shrink(); });
  map.check();
}

void two_shrinks() {
  supplied map(2);
  in_threads(
      [&] {
        map.shrink();
        map.use(1);
      },
      [&] {
        map.use(1);
        map.shrink();
      });
  map.check();
}

// A refusal beside a shrink must be right whether the shrink has found free slots or not.
void refusal_beside_shrink() {
  supplied map(2);
  in_threads(
      [&] {
        const std::size_t mine = map.insert();
        map.shrink();
        map.erase(mine);
      },
      [&] {
        const std::size_t first = map.insert();
        const std::size_t second = map.insert();
        map.erase(first);
        map.erase(second);
      });
  map.check();
}

// Who was told that a value is there walks as far as that.
void walk_after_contains() {
  using lido::detail::slot_state;
  const slot_geometry places(storage.data(), stride);
  lido::detail::slot_supply supply(places, 2, /*max_cached=*/0);
  slot_state state;
  in_threads(
      [&] {
        supply.raise_end(places.index_of(supply.take()));
        state.publish();
      },
      [&] {
        if (state.is_live(slot_state::first_generation)) {
          require(supply.end() != 0, "a walk does not come to a value that is there");
        }
      });
}

constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 0};

// Who has the census is waited for.
constexpr scenario supplies(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow, /*waits=*/true};
}

constexpr std::array scenarios{
    supplies("slot_supply.shrink_against_insert", "the end is lowered beside an insert",
             &shrink_against_insert),
    supplies("slot_supply.shrink_against_last_insert", "slots in the census are not taken",
             &shrink_against_last_insert),
    supplies("slot_supply.shrink_beside_two", "the same with two who insert", &shrink_beside_two),
    supplies("slot_supply.two_shrinks", "two who lower the end", &two_shrinks),
    supplies("slot_supply.refusal_beside_shrink", "a refusal beside a shrink",
             &refusal_beside_shrink),
    supplies("slot_supply.walk_after_contains", "a walk of who was told of a value",
             &walk_after_contains),
};

}  // namespace

std::span<const scenario> slot_supply_scenarios() {
  return scenarios;
}

}  // namespace model
