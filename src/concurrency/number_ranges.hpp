/// @file
/// Internal. The thread numbers that belong to each copy of the library in a process.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace lido::inline v0::detail {

/// Numbers that a copy takes at a time: few, so that many copies get some.
inline constexpr std::uint32_t numbers_in_range = 16;
inline constexpr std::uint32_t number_ranges_count =
    (max_thread_number + numbers_in_range - 1) / numbers_in_range;

/// The ranges of numbers that copies have taken, for ever. All copies share one object, which is
/// zeros at first.
///
/// So no thread has a number that a thread of another copy ever had. In a pool of that copy its
/// entry was never used, so no operation is a hit, and slow paths compare the copies. Copies of
/// other versions read this, too; `pool_origin` says what never changes.
class number_ranges {
 public:
  /// Takes the lowest range that no copy has; returns nothing if all are taken. Lock-free.
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
  /// Returns the highest number of the ranges that copies have taken; 0 if there are none.
  [[nodiscard]] std::uint32_t highest() const noexcept {
    for (std::size_t word = taken_.size(); word-- != 0;) {
      // relaxed: what orders a thread's acts before the caller's orders its number, too
      const std::uint64_t bits = taken_.at(word).load(std::memory_order_relaxed);
      if (bits != 0) {
        const auto leading = static_cast<std::size_t>(std::countl_zero(bits));
        const auto ranges = static_cast<std::uint32_t>(word * 64 + 64 - leading);
        return (std::min)(ranges * numbers_in_range, max_thread_number);
      }
    }
    return 0;
  }

 private:
  std::array<atomic<std::uint64_t>, (number_ranges_count + 63) / 64> taken_;
};

/// Makes copies agree on one address in memory. Each copy has a word that the others find, null at
/// first. The word of the copy that was loaded first decides, until each has noted the address.
///
/// Lock-free. Copies may do this at once, but none may be unloaded while they do.
class common_ranges {
 public:
  using word = atomic<void*>;

  /// Reads the word of a copy. Must be called for each, in the order in which they were loaded.
  // relaxed (whole function): the memory there is zeros, which no thread has written
  void look_at(word& copy) noexcept {
    first_ = first_ != nullptr ? first_ : &copy;
    void* const noted = copy.load(std::memory_order_relaxed);
    address_ = address_ != nullptr ? address_ : noted;
  }

  /// Returns true if a copy has noted the address. Then `agree` needs no memory.
  [[nodiscard]] bool is_known() const noexcept { return address_ != nullptr; }

  /// Returns the address, which is `mine` if no other copy was faster, and notes it in `own`.
  /// Returns null if there is none yet, and `mine` is null.
  // relaxed (whole function): as in look_at
  [[nodiscard]] void* agree(word& own, void* mine) noexcept {
    if (address_ == nullptr && mine != nullptr) {
      word& first = first_ != nullptr ? *first_ : own;  // notes may have been taken away
      void* before = nullptr;
      address_ = first.compare_exchange_strong(before, mine, std::memory_order_relaxed,
                                               std::memory_order_relaxed)
                     ? mine
                     : before;
    }
    if (address_ != nullptr) {
      own.store(address_, std::memory_order_relaxed);
    }
    return address_;
  }

 private:
  word* first_ = nullptr;
  void* address_ = nullptr;
};

}  // namespace lido::inline v0::detail
