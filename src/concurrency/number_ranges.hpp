/// @file
/// Internal. Which thread numbers belong to which copy of the library in a process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace lido::detail {

/// Numbers that a copy takes at a time: few, so that many copies get some.
inline constexpr std::uint32_t numbers_in_range = 16;
inline constexpr std::uint32_t number_ranges_count =
    (max_thread_number + numbers_in_range - 1) / numbers_in_range;

/// The ranges of numbers that copies have taken, for ever. All copies share one object, which is
/// zeros at first.
///
/// So no thread has a number that a thread of another copy ever had. In a pool of that copy its
/// entry was never used, so no operation is a hit, and slow paths compare the copies. Copies of
/// other versions read this, too; `pool_origin` says what stays as it is.
class number_ranges {
 public:
  /// The lowest range that no copy has; now the caller's. Nothing: all are taken. Lock-free.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept {
    for (std::uint32_t range = 0; range < number_ranges_count; ++range) {
      const std::uint64_t bit = std::uint64_t{1} << range % 64;
      // relaxed: a copy writes nothing that another one reads; the bit alone decides
      if ((taken_.at(range / 64).fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
        return range;
      }
    }
    return std::nullopt;
  }

 private:
  std::array<atomic<std::uint64_t>, (number_ranges_count + 63) / 64> taken_;
};

}  // namespace lido::detail
