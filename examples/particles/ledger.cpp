#include "ledger.hpp"

#include <fmt/format.h>

namespace particles {

// Orders here are relaxed: each entry is independent, and a thread that reads the totals has waited
// for the tasks that made them.

void ledger::born(std::uint32_t number) {
  if (number >= life_.size()) {
    found_wrong_.add(
        fmt::format("particle {} was born, but only {} were asked for", number, life_.size()));
  } else if (life_[number].exchange(alive, std::memory_order_relaxed) != unborn) {
    found_wrong_.add(fmt::format("particle {} was born twice", number));
  } else {
    count(born_);
  }
}

void ledger::ended(std::uint32_t number, ending how) {
  const bool was_alive =
      number < life_.size() && life_[number].exchange(gone, std::memory_order_relaxed) == alive;
  if (was_alive) {
    count(how == ending::died ? died_ : evicted_);
  } else {
    found_wrong_.add(fmt::format("particle {} ended, but was not alive", number));
  }
}

bool ledger::is_alive(std::size_t number) const noexcept {
  return number < life_.size() && life_[number].load(std::memory_order_relaxed) == alive;
}

tally ledger::totals() const noexcept {
  return {.asked = asked_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .born = born_.load(std::memory_order_relaxed),
          .died = died_.load(std::memory_order_relaxed),
          .evicted = evicted_.load(std::memory_order_relaxed)};
}

}  // namespace particles
