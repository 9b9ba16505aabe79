/// @file
/// Internal. A statistics counter that many threads increment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace lido::inline v0::detail {

/// A counter spread over several cache lines, so that few threads share a line. Thread-safe,
/// wait-free.
class striped_count {
 public:
  // relaxed (whole function): a number for statistics
  void add_one() noexcept {
    const std::size_t thread = own_thread_offset() / thread_stride;
    stripes_[thread % stripes_.size()].count.fetch_add(1, std::memory_order_relaxed);
  }

  // relaxed (whole function): as above
  [[nodiscard]] std::uint64_t sum() const noexcept {
    std::uint64_t sum = 0;
    for (const stripe& each : stripes_) {
      sum += each.count.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct alignas(cache_line) stripe {
    unscheduled_atomic<std::uint64_t> count{0};
  };

  std::array<stripe, 8> stripes_;
};

}  // namespace lido::inline v0::detail
