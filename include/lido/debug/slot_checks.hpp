/// @file
/// Internal. The checks of a pool with `policy::checked`, called around every acquire and release.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/concurrency/atomic.hpp"
#include "lido/debug/checked_slots.hpp"
#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/thread_label.hpp"
#include "lido/debug/valgrind.hpp"

namespace lido::detail {

/// For slots of `Size` bytes. `no_checks` has the same interface and does nothing.
///
/// A slot is free, with the fill pattern in it, from `after_destruction` to `before_construction`.
/// Wait-free where nothing is wrong: no read-modify-write as long as objects are released where
/// they were acquired, one compare-and-swap of the slot's own word for each release otherwise.
template <std::size_t Size>
class slot_checks : public checked_slots {
 public:
  static constexpr bool active = true;
  using place = detail::place;

  slot_checks(std::string_view name, std::byte* first, std::uint32_t capacity)
      : checked_slots(name, first, Size, capacity), first_(first), valgrind_(under_valgrind()) {
    if (valgrind_) {
      valgrind_create_pool(this, first, Size * capacity);
    }
  }
  slot_checks(const slot_checks&) = delete;
  slot_checks& operator=(const slot_checks&) = delete;
  ~slot_checks() {
    if (valgrind_) {
      valgrind_destroy_pool(this, first_, Size * capacity());
    }
  }

  /// The slot comes from the free list; reports a write that happened to it there.
  [[gnu::always_inline]] void before_construction(void* slot, place at) const noexcept {
    if (valgrind_) [[unlikely]] {
      return before_construction_under_valgrind(slot, at);
    }
    if (!is_filled(slot, Size)) [[unlikely]] {
      report_overwritten(slot, at);
    }
  }

  [[gnu::always_inline]] void after_construction(const void* object, place at) noexcept {
    record(distance_to(object) / Size).begin_use(at, this_thread_id());
  }

  /// Whether `object` is one of this pool's and in use; then it is not any more. If not, says so
  /// to the handler. Also works, as far as memory allows, for a
  /// pool that has ended.
  [[nodiscard, gnu::always_inline]] bool admit_release(const void* object, place at) noexcept {
    const std::uint64_t number = exact_quotient(distance_to(object));
    if (number >= admitted()) [[unlikely]] {
      refuse_stranger(object, at);
      return false;
    }
    slot_record& its_record = record(number);
    // A thread without an id yet has acquired nothing.
    const slot_word use = its_record.try_end_as_holder(checked_thread_id);
    if (use.use() == 0) [[unlikely]] {
      return release_as_other(static_cast<slot_index>(number), at);
    }
    light_fence();
    if (releases_are_shared()) [[unlikely]] {
      return settle_as_holder(static_cast<slot_index>(number), use, at);
    }
    its_record.note_release(use, at);
    return true;
  }

  /// The slot is about to go to the free list.
  [[gnu::always_inline]] void after_destruction(void* slot) const noexcept {
    fill(slot, Size);
    if (valgrind_) [[unlikely]] {
      valgrind_release(this, slot, Size);
    }
  }
  void after_failed_construction(void* slot) const noexcept { after_destruction(slot); }

 private:
  /// distance / Size if there is no rest, and otherwise more than any quotient: an exact division
  /// is a multiplication by the inverse of the odd part, and a rest turns up in the high bits
  /// (Warren, Hacker's Delight, 10-17).
  [[nodiscard, gnu::always_inline]] static std::uint64_t exact_quotient(
      std::uint64_t distance) noexcept {
    constexpr int shift = std::countr_zero(Size);
    constexpr std::uint64_t odd = Size >> static_cast<unsigned>(shift);
    constexpr std::uint64_t inverse = [] {
      std::uint64_t found = odd;  // right in three bits; each step doubles them
      for (int step = 0; step < 5; ++step) {
        found *= 2 - odd * found;
      }
      return found;
    }();
    static_assert(inverse * odd == 1);
    return std::rotr(distance * inverse, shift);
  }

  [[gnu::noinline]] void before_construction_under_valgrind(void* slot, place at) const noexcept {
    valgrind_peek(slot, Size);
    if (!is_filled(slot, Size)) {
      report_overwritten(slot, at);
    }
    valgrind_acquire(this, slot, Size);
  }

  std::byte* first_;
  bool valgrind_;
};

}  // namespace lido::detail
