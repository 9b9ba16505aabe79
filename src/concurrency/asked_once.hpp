/// @file
/// Internal. A yes or no from the system, asked for once.
#pragma once

#include <cstdint>

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// A yes or no that does not change. Threads that need it at the same time may each ask, so none
/// waits for another. A static variable with an initializer would make them wait for one thread,
/// which may not exist in the child of a fork. Progress: wait-free, except for `ask`.
class asked_once {
 public:
  template <class Ask>
  [[nodiscard]] bool answer(const Ask& ask) noexcept {
    // relaxed: nothing else is read because of it
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
