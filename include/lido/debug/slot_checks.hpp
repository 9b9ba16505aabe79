/// @file
/// Internal. The checks of a checked pool, called around every acquire and release.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/debug/checked_slots.hpp"
#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/no_checks.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/slot_record.hpp"
#include "lido/debug/thread_label.hpp"
#include "lido/debug/valgrind.hpp"

namespace lido::detail {

/// For slots of `Size` bytes, watched as a whole up to `Whole`. `no_checks` has the same interface
/// and does nothing.
///
/// A slot is free, with the fill pattern in it, from `after_destruction` to `is_as_left`.
/// Wait-free where nothing is wrong: no read-modify-write as long as objects are released where
/// they were acquired, one compare-and-swap of the slot's own word for each release otherwise.
template <std::size_t Size, std::size_t Whole>
class slot_checks : public checked_slots {
 public:
  static constexpr bool active = true;
  using place = detail::place;

  slot_checks(std::string_view name, std::byte* first, std::uint32_t capacity)
      : checked_slots(name, first, capacity, Size, pattern),
        records_origin_(find_records_origin()),
        valgrind_(under_valgrind()) {
    if (valgrind_) {
      valgrind_create_pool(this, first, Size * capacity);
    }
  }
  slot_checks(const slot_checks&) = delete;
  slot_checks& operator=(const slot_checks&) = delete;
  ~slot_checks() {
    if (valgrind_) {
      valgrind_destroy_pool(this, address_of(0), Size * capacity());
    }
  }

  using thread = std::uint32_t;

  [[nodiscard, gnu::always_inline]] static thread this_thread() noexcept {
    return checked_thread_id;
  }
  /// The same, for who has not asked `is_as_left`: a slot that still holds its object.
  [[nodiscard]] static thread known_thread() noexcept { return this_thread_id(); }

  /// The slot comes from the free list. Whether it is as it was left there; never so in a thread
  /// whose id is not known, thus never under Valgrind.
  [[nodiscard, gnu::always_inline]] bool is_as_left(const void* slot, thread me) const noexcept {
    return !hardly_ever(me == 0) && !hardly_ever(!pattern.is_intact(slot, use_of(slot)));
  }

  /// If it is not: reports a write that happened to it there. Returns the calling thread.
  [[nodiscard]] thread look_into(void* slot, place at) const noexcept {
    if (valgrind_) {
      valgrind_peek(slot, Size);
    }
    if (!pattern.is_intact(slot, use_of(slot))) {
      report_overwritten(slot, at);
    }
    if (valgrind_) {
      valgrind_acquire(this, slot, Size);
    }
    return this_thread_id();
  }

  [[gnu::always_inline]] void after_construction(const void* object, place at, thread me) noexcept {
    record_of(object).begin_use(at, me);
  }

  /// What ends the use of a slot by its holder; empty for anybody else.
  struct holding {
    slot_record* record = nullptr;
    std::uint64_t use = 0;
  };

  /// Whether `object` is this pool's, in use, and was acquired by this thread. Also works, as far
  /// as memory allows, for a pool that has ended.
  [[nodiscard, gnu::always_inline]] bool is_held_here(const void* object, holding& found) noexcept {
    if (hardly_ever(exact_quotient(distance_to(object)) >= admitted())) {
      return false;
    }
    found.record = &record_of(object);
    found.use = found.record->last_use();
    // A thread whose id is not known has acquired nothing.
    return found.record->is_held_by(checked_thread_id, found.use);
  }

  /// After `is_held_here`: ends the use. False: another thread may be at it, too; then `settle`.
  [[nodiscard, gnu::always_inline]] bool end_alone(holding found, place at) noexcept {
    return bias().end_alone(*found.record, found.use, at);
  }

  /// False: another thread was faster, and the handler knows.
  [[nodiscard]] bool settle(const void* object, holding found, place at) noexcept {
    if (!release_bias::settle(*found.record, found.use, at)) {
      refuse_second_release(object, at);
      return false;
    }
    return true;
  }

  /// What is not held here. False: wrong use, and the handler knows.
  [[nodiscard]] bool end_as_other(const void* object, place at) noexcept {
    if (exact_quotient(distance_to(object)) >= admitted()) {
      refuse_stranger(object, at);
      return false;
    }
    if (!bias().end_as_other(record_of(object), at)) {
      refuse_second_release(object, at);
      return false;
    }
    return true;
  }

  /// The slot is about to go to the free list.
  [[gnu::always_inline]] void after_destruction(void* slot, holding found) const noexcept {
    if (found.record != nullptr) {
      pattern.fill(slot, found.use);  // the last one still, and at hand
      return;
    }
    pattern.fill(slot, use_of(slot));
    // Under Valgrind nobody knows to be a holder.
    if (valgrind_) {
      valgrind_release(this, slot, Size);
    }
  }
  void after_failed_construction(void* slot) const noexcept { after_destruction(slot, {}); }

 private:
  static constexpr fill_pattern pattern{Size, Whole};

  /// The use that decides which bytes are watched.
  [[nodiscard, gnu::always_inline]] std::uint64_t use_of(const void* slot) const noexcept {
    return pattern.watches_all() ? 0 : record_of(slot).last_use();
  }

  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr): as below
  [[nodiscard, gnu::always_inline]] slot_record& record_of(const void* object) noexcept {
    return *reinterpret_cast<slot_record*>(record_address(object));
  }
  [[nodiscard, gnu::always_inline]] const slot_record& record_of(
      const void* object) const noexcept {
    return *reinterpret_cast<const slot_record*>(record_address(object));
  }
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)

  /// Records lie beside one another as slots do. Where one is a number of times as large as the
  /// other, the origin is where that of a slot at address 0 would be, and the distance is not
  /// needed.
  [[nodiscard, gnu::always_inline]] std::uintptr_t record_address(
      const void* object) const noexcept {
    if constexpr (origin_at_zero) {
      return records_origin_ + scaled(address_as_number(object));
    } else {
      return records_origin_ + exact_quotient(distance_to(object)) * sizeof(slot_record);
    }
  }
  [[nodiscard]] std::uintptr_t find_records_origin() const noexcept {
    const std::uintptr_t records = address_as_number(&record(0));
    if constexpr (origin_at_zero) {
      return records - scaled(address_as_number(address_of(0)));
    } else {
      return records;
    }
  }

  static constexpr bool records_are_larger = sizeof(slot_record) % Size == 0;
  static constexpr bool origin_at_zero =
      records_are_larger ||
      (Size % sizeof(slot_record) == 0 && std::has_single_bit(Size / sizeof(slot_record)));

  /// An address of slots, by as much as records are larger or smaller. Rounds all slots alike,
  /// since they are whole multiples of the divisor apart.
  [[nodiscard, gnu::always_inline]] static constexpr std::uintptr_t scaled(
      std::uintptr_t address) noexcept {
    if constexpr (records_are_larger) {
      return address * (sizeof(slot_record) / Size);
    } else {
      return address / (Size / sizeof(slot_record));
    }
  }

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

  std::uintptr_t records_origin_;
  bool valgrind_;
};

/// The checks of a pool whose traits say so; `Traits::watched_bytes` is optional.
template <class Traits, std::size_t Size>
struct pool_checks<Traits, Size, true> {
  static constexpr std::size_t watched() noexcept {
    if constexpr (requires { Traits::watched_bytes; }) {
      return Traits::watched_bytes;
    } else {
      return fill_pattern::least_whole;
    }
  }
  static_assert(watched() >= fill_pattern::least_whole,
                "lido: Traits::watched_bytes must be at least 64");
  using type = slot_checks<Size, watched()>;
};

}  // namespace lido::detail
