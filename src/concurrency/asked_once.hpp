/// @file
/// Internal. A yes-or-no answer of the system. The system is asked only until the answer is known.
#pragma once

#include <cstdint>

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// Stores a yes-or-no answer that never changes. If several threads need the answer at the same
/// time, all of them may ask, so that none waits for another. With a static local variable, they
/// would wait for the thread that initialises the variable. That thread may not exist in the child
/// of a fork. Progress: wait-free, except for `ask`.
class asked_once {
 public:
  template <class Ask>
  [[nodiscard]] bool answer(const Ask& ask) noexcept {
    // relaxed: a reader uses only the answer itself
    std::uint8_t seen = answer_.load(std::memory_order_relaxed);
    if (seen == unknown) {
      seen = ask() ? yes : no;
      // relaxed: as above; all threads that ask get the same answer
      answer_.store(seen, std::memory_order_relaxed);
    }
    return seen == yes;
  }

 private:
  static constexpr std::uint8_t unknown = 0;
  static constexpr std::uint8_t no = 1;
  static constexpr std::uint8_t yes = 2;

  atomic<std::uint8_t> answer_{unknown};
};

}  // namespace lido::inline v0::detail
