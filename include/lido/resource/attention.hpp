/// @file
/// Internal. The one word that says whether an acquire or release may keep to the short way.
#pragma once

#include <cstdint>

#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

/// Who waits, and what state the pool is in. Zero, nearly always: then an idle resource is anyone's
/// and a released one goes back to its place.
class attention {
 public:
  /// overdue: who is first in the queue may not be overtaken any more.
  enum flag : std::uint64_t { closed = 1, suspended = 2, surplus = 4, overdue = 8 };

  [[nodiscard]] bool needed() const noexcept { return bits() != 0; }
  /// Whatever it is, but that somebody waits.
  [[nodiscard]] bool flagged() const noexcept { return (bits() & flags) != 0; }
  [[nodiscard]] bool is(flag what) const noexcept { return (bits() & what) != 0; }
  [[nodiscard]] std::uint64_t waiters() const noexcept { return bits() >> shift; }

  void one_waits() noexcept { change(one); }
  void one_leaves() noexcept { change(std::uint64_t{0} - one); }

  /// Under the pool's mutex.
  void set(flag what, bool on) noexcept {
    if (is(what) != on) {
      change(on ? what : std::uint64_t{0} - what);
    }
  }

 private:
  static constexpr unsigned shift = 8;
  static constexpr std::uint64_t flags = (std::uint64_t{1} << shift) - 1;
  static constexpr std::uint64_t one = std::uint64_t{1} << shift;

  [[nodiscard]] std::uint64_t bits() const noexcept {
    // (1) - this seq_cst-load synchronizes-with the seq_cst-fetch-add (2), and is in one total
    // order with it and with resource_life.hpp (1, 2): who has put a resource back sees who waits
    return word_.load(std::memory_order_seq_cst);
  }

  void change(std::uint64_t by) noexcept {
    // (2) - this seq_cst-fetch-add synchronizes-with the seq_cst-load (1), and is in one total
    // order with it and with resource_life.hpp (1, 2): who then looks for a resource sees those
    // that were put back by threads that did not see it wait
    (void)word_.fetch_add(by, std::memory_order_seq_cst);
  }

  atomic<std::uint64_t> word_{0};
};

}  // namespace lido::detail
