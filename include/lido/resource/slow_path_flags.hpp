/// @file
/// Internal. Flags that keep acquires and releases off the fast path.
#pragma once

#include <cstdint>

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// Flags that keep acquires and releases off the fast path. They are nearly always zero.
class slow_path_flags {
 public:
  enum flag : std::uint32_t {
    keep_off = 1,      ///< acquires leave idle resources alone
    ask_kernel = 2,    ///< releases notify the kernel: a waiter may need the resource
    ask_when_due = 4,  ///< like `ask_kernel`, once the first waiter has been overtaken long enough
  };
  [[nodiscard]] std::uint32_t get() const noexcept {
    // (1) - this seq_cst-load synchronizes-with the seq_cst-store (2), and is in one total order
    // with it and with slot.hpp (1, 2). So either the releasing thread sees the flag or the kernel
    // sees the resource
    return word_.load(std::memory_order_seq_cst);
  }
  /// Sets the flags. Requires: the pool's mutex is held.
  void set(std::uint32_t flags) noexcept {
    if (get() != flags) {
      // (2) - this seq_cst-store synchronizes-with the seq_cst-load (1), and is in one total order
      // with it and with slot.hpp (1, 2). If the kernel then checks the slots, it sees every
      // resource whose release missed the flags
      word_.store(flags, std::memory_order_seq_cst);
    }
  }

 private:
  atomic<std::uint32_t> word_{0};
};

}  // namespace lido::inline v0::detail
