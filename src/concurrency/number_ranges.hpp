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

/// Number of thread numbers in a range. A copy always takes a whole range. Ranges are small, so
/// that there are enough ranges for many copies.
inline constexpr std::uint32_t numbers_in_range = 16;
inline constexpr std::uint32_t number_ranges_count =
    (max_thread_number + numbers_in_range - 1) / numbers_in_range;

/// The ranges of thread numbers that copies of the library have taken; no range is ever given back.
/// All copies share one object, which is zeroed memory at first.
///
/// A thread therefore never has a number that a thread of another copy has ever had. If it uses a
/// pool of another copy, its entry in the table of that pool has never been used. So no operation
/// is a hit, and the slow paths compare the copies. Copies of other versions read this object, too;
/// `pool_origin` lists what no version may change.
class number_ranges {
 public:
  /// Takes the lowest range that no copy has taken. Returns nothing if all ranges are taken.
  /// Lock-free.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept {
    for (std::uint32_t range = 0; range < number_ranges_count; ++range) {
      const std::uint64_t bit = std::uint64_t{1} << range % 64;
      // relaxed: a copy writes nothing else that another copy reads; only the bit decides
      if ((taken_.at(range / 64).fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
        return range;
      }
    }
    return std::nullopt;
  }
  /// Returns the highest thread number in the ranges that copies have taken; 0 if no range is
  /// taken.
  [[nodiscard]] std::uint32_t highest() const noexcept {
    for (std::size_t word = taken_.size(); word-- != 0;) {
      // relaxed: whatever makes a thread's actions visible to the caller makes its range visible,
      // too
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

/// Makes the copies of the library agree on the address of one object. Each copy has a word that
/// the other copies can find. The word is null at first. The word of the copy that was loaded first
/// determines the address, until each copy has stored the address in its own word.
///
/// Lock-free. Several copies may do this at the same time, but no copy may be unloaded meanwhile.
class common_ranges {
 public:
  using word = atomic<void*>;

  /// Reads the word of a copy. Must be called for each copy, in the order in which the copies were
  /// loaded.
  // relaxed (whole function): the memory at the address is zeros, which no thread has written
  void look_at(word& copy) noexcept {
    first_ = first_ != nullptr ? first_ : &copy;
    void* const noted = copy.load(std::memory_order_relaxed);
    address_ = address_ != nullptr ? address_ : noted;
  }

  /// Returns true if a copy has stored the address in its word. In that case, `mine` may be null in
  /// a call of `agree`.
  [[nodiscard]] bool is_known() const noexcept { return address_ != nullptr; }

  /// Returns the address that the copies agree on, and stores it in `own`. The address is `mine` if
  /// no other copy was faster. Returns null if there is no address yet and `mine` is null.
  // relaxed (whole function): as in look_at
  [[nodiscard]] void* agree(word& own, void* mine) noexcept {
    if (address_ == nullptr && mine != nullptr) {
      // `first_` is null if the ELF notes were stripped.
      word& first = first_ != nullptr ? *first_ : own;
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
