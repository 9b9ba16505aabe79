/// @file
/// Internal. The checks of a checked pool, called around every acquire and release.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/no_checks.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/slot_record.hpp"

namespace lido::detail {

/// What is known of a checked pool without touching it, and its link in the list of all of them.
struct pool_trace {
  const void* pool = nullptr;
  const std::byte* first = nullptr;
  std::size_t bytes = 0;
  std::size_t stride = 1;
  bool alive = false;
  std::array<char, 48> name{};  ///< cut off if longer
  pool_trace* next = nullptr;
};

/// Both block for a moment. The last 64 pools that ended are remembered, until a new checked pool
/// has their addresses.
void register_checked(pool_trace& pool) noexcept;
void unregister_checked(pool_trace& pool) noexcept;

/// Of the pool with that address, or of the one that has or had the slot; `pool` is null for none.
[[nodiscard]] pool_trace find_checked(const void* pool) noexcept;
[[nodiscard]] pool_trace find_owner(const void* object) noexcept;

/// Records of the slots of one pool, whatever it holds, and the slow paths of its checks.
///
/// After its end a caller may still ask it to admit a release: it then admits no slot, and nothing
/// else of it is read.
class checked_slots {
 public:
  /// Throws std::bad_alloc. `name` must live as long as this. Fills all slots.
  checked_slots(std::string_view name, std::byte* first, std::uint32_t capacity, std::size_t stride,
                fill_pattern pattern);
  checked_slots(const checked_slots&) = delete;
  checked_slots& operator=(const checked_slots&) = delete;

  /// Reports objects in use, and free slots that were written to.
  ~checked_slots();

  [[nodiscard]] bool is_used(slot_index slot) const noexcept { return records_[slot].is_used(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t memory() const noexcept { return capacity_ * sizeof(slot_record); }

  /// What ends the use of a slot by its holder; empty for any other thread.
  struct holding {
    slot_record* record = nullptr;
    std::uint64_t use = 0;
  };

  /// After `try_end`, with what that found. False: wrong use, and the handler knows.
  [[nodiscard]] bool try_end_slow(const void* object, place at, holding found) noexcept;

 protected:
  [[nodiscard]] std::uintptr_t distance_to(const void* object) const noexcept {
    return std::bit_cast<std::uintptr_t>(object) - std::bit_cast<std::uintptr_t>(first_);
  }
  [[nodiscard]] std::uint64_t admitted() const noexcept {
    // relaxed: differs only if the pool has ended, and a release to it is wrong anyway
    return admitted_.load(std::memory_order_relaxed);
  }

  /// Reports a write to the free slot, if there was one. Returns the calling thread.
  [[nodiscard, gnu::cold, gnu::noinline]] std::uint32_t look_into(void* slot,
                                                                  place at) const noexcept;
  /// To Valgrind, where it runs.
  void tell_release(const void* slot) const noexcept;

  // NOLINTBEGIN(cppcoreguidelines-non-private-member-variables-in-classes,misc-non-private-member-variables-in-classes)
  std::byte* const first_;
  std::unique_ptr<slot_record[]> records_;
  release_bias bias_;
  // NOLINTEND(cppcoreguidelines-non-private-member-variables-in-classes,misc-non-private-member-variables-in-classes)

 private:
  void refuse(const void* object, place at) const noexcept;
  void report(misuse_kind kind, const void* object, place at) const noexcept;
  void report_leaks() const noexcept;
  [[nodiscard]] bool is_intact(slot_index slot) const noexcept {
    return pattern_.is_intact(first_ + stride_ * slot, records_[slot].last_use());
  }

  atomic<std::uint64_t> admitted_;  ///< slots that may be released: all, or none after the end
  fill_pattern pattern_;
  std::size_t stride_;
  std::uint32_t capacity_;
  bool valgrind_;
  std::string_view name_;
  pool_trace trace_;
};

/// For slots of `Size` bytes, watched as a whole up to `Whole`. `no_checks` has the same interface
/// and does nothing.
///
/// A slot is free, with the fill pattern in it, from `after_destruction` to `before_construction`.
/// Wait-free where nothing is wrong: no read-modify-write as long as objects are released where
/// they were acquired, one compare-and-swap of the slot's own word for each release otherwise.
template <std::size_t Size, std::size_t Whole>
class slot_checks : public checked_slots {
 public:
  static constexpr bool active = true;
  using place = detail::place;
  using thread = std::uint32_t;

  slot_checks(std::string_view name, std::byte* first, std::uint32_t capacity)
      : checked_slots(name, first, capacity, Size, pattern) {}

  /// For a slot that still holds its object.
  [[nodiscard]] static thread this_thread() noexcept { return this_thread_id(); }

  /// The slot comes from the free list: reports a write that happened to it there. Returns the
  /// calling thread. Takes the slow path in a thread whose id is not known, thus under Valgrind.
  [[nodiscard, gnu::always_inline]] thread before_construction(void* slot,
                                                               place at) const noexcept {
    const thread me = checked_thread_id;
    if (hardly_ever(me == 0) || hardly_ever(!pattern.is_intact(slot, use_of(slot)))) {
      return look_into(slot, at);
    }
    return me;
  }

  [[gnu::always_inline]] void after_construction(const void* object, place at, thread me) noexcept {
    record_of(object).begin_use(at, me);
  }

  /// Ends the use of an object that is this pool's and was acquired by this thread. False:
  /// `try_end_slow` decides. Also works, as far as memory allows, for a pool that has ended.
  [[nodiscard, gnu::always_inline]] bool try_end(const void* object, place at,
                                                 holding& found) noexcept {
    const std::uint64_t slot = exact_quotient(distance_to(object));
    if (hardly_ever(slot >= admitted())) {
      return false;
    }
    slot_record& record = records_[slot];
    const std::uint64_t use = record.last_use();
    // A thread whose id is not known has acquired nothing.
    if (!record.is_held_by(checked_thread_id, use)) {
      return false;
    }
    found = {&record, use};
    return bias_.end_alone(record, use, at);
  }

  /// The slot is about to go to the free list, after its use or a constructor that has thrown.
  [[gnu::always_inline]] void after_destruction(void* slot, holding found) const noexcept {
    if (found.record != nullptr) {
      pattern.fill(slot, found.use);  // the last one still, and at hand
      return;
    }
    pattern.fill(slot, use_of(slot));
    tell_release(slot);  // under Valgrind no thread knows to be a holder
  }

 private:
  static constexpr fill_pattern pattern{Size, Whole};

  /// The use that decides which bytes are watched.
  [[nodiscard, gnu::always_inline]] std::uint64_t use_of(const void* slot) const noexcept {
    return pattern.watches_all() ? 0 : record_of(slot).last_use();
  }

  [[nodiscard, gnu::always_inline]] slot_record& record_of(const void* object) const noexcept {
    return records_[exact_quotient(distance_to(object))];
  }

  /// distance / Size if there is no rest, and otherwise more than any quotient. An exact division
  /// is a multiplication by the inverse of the odd part. A rest turns up in the high bits (Warren,
  /// Hacker's Delight, 10-17).
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

namespace lido::policy {

/// As `checked`, with more of large objects watched for writes after their release: all of an
/// object of up to `Bytes` bytes. An acquire and a release go through what is watched.
template <std::size_t Bytes>
struct checked_up_to {
  static_assert(Bytes >= detail::fill_pattern::least_whole,
                "lido: at least 64 bytes of a checked object are watched");
  template <std::size_t Size>
  using checks = detail::slot_checks<Size, Bytes>;
};

/// Every release is checked, free slots are watched, and the end of the pool reports what is still
/// in use; see set_misuse_handler. The same in every build type. Of a free slot of more than 64
/// bytes the first and last sixteen are watched, and a window of 32 that moves from use to use.
struct checked : checked_up_to<detail::fill_pattern::least_whole> {};

}  // namespace lido::policy
