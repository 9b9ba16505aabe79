/// The records of checked pools and the marks of pools that are walked. Of any number of releases
/// of one use exactly one counts, and a thread that finds an object in use finds it complete.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "checker/plain.hpp"
#include "lido/base/address_space.hpp"
#include "lido/debug/slot_record.hpp"
#include "lido/object/pool_slots.hpp"
#include "scenarios/scenario.hpp"
#include "seam/system.hpp"

namespace model {

namespace {

using lido::detail::code_address;
using lido::detail::slot_record;

constexpr std::uint32_t anna = 1;
constexpr std::uint32_t ben = 2;
constexpr std::uint32_t cleo = 3;

/// A slot and what a checked pool does with its record; threads have their own names. The model
/// runs one thread at a time, so plain members count.
class watched {
 public:
  void acquire(std::uint32_t me) {
    has_ended_.push_back(false);
    record_.begin_use(code_address{}, me);
  }

  /// Returns whether this release counts.
  bool release(std::uint32_t me) {
    const std::uint64_t step = record_.last_step();
    const bool counts = record_.try_end(step, code_address{}, me);
    if (counts) {
      note_end(step);
    }
    return counts;
  }

  /// Releases; if that counts, it frees the slot, and this thread is the next to use it.
  void release_and_use_again(std::uint32_t me) {
    if (release(me)) {
      acquire(me);
      (void)release(me);
    }
  }

  /// Checks the end, when all threads have ended.
  void check() const {
    for (const bool has_ended : has_ended_) {
      require(has_ended, "an object was released, and each release was refused");
    }
    require(!record_.is_used(), "an object that was released is taken for one in use");
  }

  [[nodiscard]] const slot_record& record() const { return record_; }

 private:
  void note_end(std::uint64_t step) {
    require(slot_record::is_used_after(step), "a release of a free slot is believed");
    const std::size_t use = step / 2;
    require(!has_ended_.at(use), "an object was released twice, and each release believed");
    has_ended_.at(use) = true;
  }

  slot_record record_;
  std::vector<bool> has_ended_;  // of each use
};

void two_releases() {
  watched slot;
  slot.acquire(anna);
  in_threads([&] { slot.release(anna); }, [&] { slot.release(ben); });
  slot.check();
}

void three_releases() {
  watched slot;
  slot.acquire(anna);
  in_threads([&] { slot.release(anna); }, [&] { slot.release(ben); }, [&] { slot.release(cleo); });
  slot.check();
}

// A late release meets the slot in its next use.
void late_release() {
  watched slot;
  slot.acquire(anna);
  in_threads([&] { slot.release_and_use_again(anna); }, [&] { slot.release_and_use_again(ben); });
  slot.check();
}

// A thread walks over the objects in use.
void walk_beside_acquire() {
  watched slot;
  plain<int> object;
  in_threads(
      [&] {
        object.write(1);
        slot.acquire(anna);
      },
      [&] {
        require(!slot.record().is_used() || object.read() == 1, "an object is not made yet");
      });
}

/// Returns the layout of a pool whose objects are walked.
lido::detail::slot_layout walked_layout() {
  constexpr auto nothing = [](const std::byte* /*first*/, std::uint32_t /*count*/) noexcept {};
  return {.size = lido::detail::page_size(),
          .alignment = 1,
          .keeps = false,
          .has_states = true,
          .record_bytes = 0,
          .close_all = nothing,
          .open_all = nothing};
}

void walk_beside_mark() {
  lido::detail::slot_memory marks(walked_layout(), 1, /*grows=*/false, "modelled");
  plain<int> object;
  in_threads(
      [&] {
        object.write(1);
        marks.set_used(0);
      },
      [&] { require(!marks.is_used(0) || object.read() == 1, "an object is not made yet"); });
}

// A thread walks as the slot is added.
void walk_beside_growth() {
  lido::detail::slot_memory marks(walked_layout(), 1, /*grows=*/true, "modelled");
  plain<int> object;
  in_threads(
      [&] {
        require(marks.commit(0, 1) == 0, "no memory");
        object.write(1);
        marks.set_used(0);
      },
      [&] {
        require(marks.backed() == 0 || !marks.is_used(0) || object.read() == 1,
                "an object is not made yet");
      });
}

constexpr std::array checked_list{
    scenario{"checked.two_releases", "an object is released by two threads at once", &two_releases},
    scenario{"checked.three_releases", "an object is released by three threads at once",
             &three_releases},
    scenario{"checked.late_release", "a second release meets the next use", &late_release},
    scenario{"checked.walk_beside_acquire", "a walk over a checked pool meets a new object",
             &walk_beside_acquire},
    scenario{"checked.walk_beside_mark", "a walk over a pool meets a new object",
             &walk_beside_mark},
    scenario{"checked.walk_beside_growth", "a walk over a pool meets a slot that comes",
             &walk_beside_growth},
};

}  // namespace

std::span<const scenario> checked_scenarios() {
  return checked_list;
}

}  // namespace model
