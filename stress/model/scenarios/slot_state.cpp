/// The word of one slot of a concurrent slot map: which thread may visit the value, and which
/// destroys it.
#include <array>
#include <cstdint>

#include "checker/plain.hpp"
#include "lido/slot_map/slot_state.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using lido::detail::slot_state;
using access = slot_state::access;

constexpr std::uint64_t first = slot_state::first_generation;

/// A slot, its value, and notes of erasers for the thread that destroys the value.
class lodged {
 public:
  /// Makes a value that equals its generation. Requires: the slot is free, and the caller's.
  void make() {
    value_.write(state_.generation());
    note_.write(0);
    state_.publish();
  }

  void read(std::uint64_t generation) {
    if (state_.enter(generation, access::shared)) {
      require(value_.read() == generation, "a reader holds another value than it asked for");
      if (state_.leave(access::shared)) {
        end();
      }
    }
  }

  /// Changes the value and changes it back.
  void change(std::uint64_t generation) {
    if (state_.enter(generation, access::alone)) {
      require(value_.read() == generation, "a visitor holds another value than it asked for");
      value_.write(0);
      value_.write(generation);
      if (state_.leave(access::alone)) {
        end();
      }
    }
  }

  /// Returns whether it destroyed the value itself.
  bool erase(std::uint64_t generation) {
    const auto found = state_.erase(generation);
    erased_ += found != slot_state::fate::stale ? 1 : 0;
    if (found == slot_state::fate::ours) {
      end();
    }
    return found == slot_state::fate::ours;
  }

  /// Erases, after writing a note that the destruction of the value depends on.
  void erase_with_note(std::uint64_t generation) {
    note_.write(generation);
    (void)erase(generation);
  }

  /// Reserves the slot for a value that is made later. Requires: the slot is free, and the
  /// caller's.
  void reserve() {
    value_.write(0);
    note_.write(0);
    state_.reserve();
  }

  /// Makes the value of a reserved slot. Returns whether the slot was still reserved.
  bool fulfil(std::uint64_t generation) {
    const bool claimed = state_.claim(generation);
    if (claimed) {
      require(value_.read() == 0, "a value is made in a slot that is not free");
      make();
    }
    return claimed;
  }

  /// Gives up the reserved slot. Returns whether it was still reserved.
  bool give_up(std::uint64_t generation) {
    const bool claimed = state_.claim(generation);
    if (claimed) {
      ++erased_;
      end();
    }
    return claimed;
  }

  /// Checks the counts when all threads have ended.
  void check(int erased) const {
    require(erased_ == erased, "an erase was refused, or succeeded twice");
    require(ended_ == erased, "a value was never ended, or twice");
    require(state_.generation() == first + static_cast<unsigned>(erased), "a generation repeats");
  }

 private:
  void end() {
    (void)note_.read();
    value_.write(0);
    ++ended_;
    (void)state_.retire_value(slot_state::last_generation);
  }

  slot_state state_;
  plain<std::uint64_t> value_{0};
  plain<std::uint64_t> note_{0};
  int erased_ = 0;  // the model runs one thread at a time
  int ended_ = 0;
};

void publish_against_visits() {
  lodged slot;
  in_threads([&] { slot.make(); }, [&] { slot.read(first); }, [&] { slot.change(first); });
  slot.check(0);
}

void publish_against_erase() {
  lodged slot;
  bool ended = false;
  in_threads([&] { slot.make(); }, [&] { ended = slot.erase(first); });
  slot.check(ended ? 1 : 0);
}

void readers_and_a_change() {
  lodged slot;
  slot.make();
  in_threads([&] { slot.read(first); }, [&] { slot.read(first); }, [&] { slot.change(first); });
  slot.check(0);
}

void two_changes() {
  lodged slot;
  slot.make();
  in_threads([&] { slot.change(first); }, [&] { slot.change(first); });
  slot.check(0);
}

void visits_against_erase() {
  lodged slot;
  slot.make();
  in_threads([&] { slot.read(first); }, [&] { slot.change(first); },
             [&] { slot.erase_with_note(first); });
  slot.check(1);
}

void two_readers_against_erase() {
  lodged slot;
  slot.make();
  in_threads([&] { slot.read(first); }, [&] { slot.read(first); },
             [&] { slot.erase_with_note(first); });
  slot.check(1);
}

void two_erasers_and_a_reader() {
  lodged slot;
  slot.make();
  in_threads([&] { slot.erase(first); }, [&] { slot.erase(first); }, [&] { slot.read(first); });
  slot.check(1);
}

// The slot gets another value while others still have the previous value's handle.
void stale_visitors() {
  lodged slot;
  slot.make();
  bool again = false;
  in_threads(
      [&] {
        again = slot.erase(first);
        if (again) {
          slot.make();
        }
      },
      [&] { slot.read(first); },
      [&] {
        slot.change(first);
        slot.erase(first);
      });
  slot.check(1);
}

// The thread that fulfils a handle learns of it without synchronization.
void reserve_against_fulfil() {
  lodged slot;
  in_threads([&] { slot.reserve(); }, [&] { (void)slot.fulfil(first); }, [&] { slot.read(first); });
  slot.check(0);
}

void two_fulfil_a_handle() {
  lodged slot;
  slot.reserve();
  int made = 0;  // the model runs one thread at a time
  in_threads([&] { made += slot.fulfil(first) ? 1 : 0; },
             [&] { made += slot.fulfil(first) ? 1 : 0; }, [&] { slot.read(first); });
  require(made == 1, "a reserved handle got no value, or two");
  slot.check(0);
}

void fulfil_against_give_up() {
  lodged slot;
  slot.reserve();
  bool made = false;
  bool given_up = false;
  in_threads([&] { made = slot.fulfil(first); }, [&] { given_up = slot.give_up(first); },
             [&] { slot.change(first); });
  require(made != given_up, "a reserved handle was both fulfilled and given up, or neither");
  slot.check(given_up ? 1 : 0);
}

// A thread that learns that a value exists walks that far.
void walk_after_contains() {
  lido::detail::walk_end end;
  slot_state state;
  in_threads(
      [&] {
        end.raise_above(0);
        state.publish();
      },
      [&] {
        if (state.is_live(first)) {
          require(end.get() != 0, "a walk does not come to a value that is there");
        }
      });
}

constexpr bounds few{2, 1, 0};

constexpr std::array slot_state_list{
    scenario{"slot_state.publish_against_visits",
             "a value is made while visitors come",
             &publish_against_visits,
             false,
             {},
             true},
    scenario{"slot_state.publish_against_erase",
             "a value is made while an eraser comes",
             &publish_against_erase,
             false,
             {},
             true},
    scenario{"slot_state.readers_and_a_change",
             "readers exclude who changes the value",
             &readers_and_a_change,
             false,
             {},
             true},
    scenario{
        "slot_state.two_changes", "two who want the value alone", &two_changes, false, {}, true},
    scenario{"slot_state.visits_against_erase", "the last one with an erased value ends it",
             &visits_against_erase, false, few, true},
    scenario{"slot_state.two_readers_against_erase", "two readers of an erased value",
             &two_readers_against_erase, false, few, true},
    scenario{"slot_state.two_erasers_and_a_reader", "a value is erased once",
             &two_erasers_and_a_reader, false, few, true},
    scenario{"slot_state.stale_visitors", "handles of the value before", &stale_visitors, false,
             few, true},
    scenario{"slot_state.reserve_against_fulfil",
             "a handle is fulfilled while it is being reserved",
             &reserve_against_fulfil,
             false,
             {},
             true},
    scenario{"slot_state.two_fulfil_a_handle",
             "a reserved handle gets one value",
             &two_fulfil_a_handle,
             false,
             {},
             true},
    scenario{"slot_state.fulfil_against_give_up",
             "a reserved handle is fulfilled or given up",
             &fulfil_against_give_up,
             false,
             {},
             true},
    scenario{"slot_state.walk_after_contains",
             "a walk of a thread that was told of a value",
             &walk_after_contains,
             false,
             {},
             true},
};

}  // namespace

std::span<const scenario> slot_state_scenarios() {
  return slot_state_list;
}

}  // namespace model
