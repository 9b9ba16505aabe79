/// @file
/// Internal. The checks of a checked pool, called around every acquire and release.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lido/base/address.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/no_checks.hpp"
#include "lido/debug/slot_record.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// Facts about a checked pool that can be read without access to the pool, and its link in the list
/// of all checked pools.
struct pool_trace {
  const void* pool = nullptr;
  const std::byte* first = nullptr;
  std::size_t stride = 1;
  std::uint32_t capacity = 0;
  bool alive = false;
  std::array<char, 48> name{};  ///< truncated if longer
  pool_trace* next = nullptr;
};

/// Add a checked pool to the list of all checked pools, or remove it. Both functions block briefly.
/// The list remembers the last 64 destroyed pools, but forgets one if a new checked pool occupies
/// its addresses.
void register_checked(pool_trace& pool) noexcept;
void unregister_checked(pool_trace& pool) noexcept;

/// Return the facts about the pool with the address `pool`, or about the pool whose slots contain
/// or contained `object`. If there is no such pool, the result's `pool` is null.
[[nodiscard]] pool_trace find_checked(const void* pool) noexcept;
[[nodiscard]] pool_trace find_owner(const void* object) noexcept;

/// Records the state of one pool's slots, whatever the type of its objects, and contains the slow
/// paths of its checks.
///
/// Callers may still ask a destroyed object of this class to admit an acquire or a release.
/// It then refuses, and reads none of its other members.
class checked_slots {
 public:
  /// Fills all slots with `pattern`. The records are in the memory `records`, which is aligned to
  /// a cache line, or in memory of the system if `records` is null. Throws std::bad_alloc. `name`
  /// must live as long as this object.
  checked_slots(std::string_view name, std::byte* first, std::uint32_t capacity, std::size_t stride,
                fill_pattern pattern, std::byte* records);
  checked_slots(const checked_slots&) = delete;
  checked_slots& operator=(const checked_slots&) = delete;

  /// Reports objects that are still in use, and free slots that were written to.
  ~checked_slots();

  /// Refuses every acquire from now on, since the pool is about to be destroyed.
  void close() noexcept;

  [[nodiscard]] bool is_used(slot_index slot) const noexcept { return records_[slot].is_used(); }
  [[nodiscard]] std::size_t memory() const noexcept {
    return trace_.capacity * sizeof(slot_record);
  }

  // These functions correspond to those of slot_checks, for slots whose size is known only at run
  // time. They use only slow paths.
  /// Begins a use of a slot that was taken from the free list.
  void begin_use(void* slot, code_address at) noexcept;
  /// Ends a use. Returns true if the caller must then call `watch` and release the slot, or false
  /// if a misuse was reported.
  [[nodiscard]] bool try_end_use(const void* slot, code_address at) noexcept {
    return try_end_of(slot, trace_.stride, at);
  }
  void watch(void* slot) const noexcept;

 protected:
  [[nodiscard]] std::uintptr_t distance_to(const void* object) const noexcept {
    return address_bits(object) - address_bits(first_);
  }
  [[nodiscard]] std::uint64_t admitted() const noexcept {
    // relaxed: the value differs only if the pool was destroyed, and then a release is wrong anyway
    return admitted_.load(std::memory_order_relaxed);
  }

  /// Ends the use of an object. Of several releases of one use, exactly one succeeds. Reports any
  /// other release, and returns false.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool try_end_of(const void* object, std::size_t stride,
                                                    code_address at) noexcept {
    const std::uint64_t count = admitted();
    const std::uintptr_t distance = distance_to(object);
    const bool is_slot = count != 0 && distance % stride == 0 && distance / stride < count;
    if (hardly_ever(!is_slot) || hardly_ever(!end_use(records_[distance / stride], at))) {
      refuse(object, at);
      return false;
    }
    return true;
  }

  /// Reports a wrong release, or a wrong acquire if `object` is null.
  [[LIDO_COLD, LIDO_NOINLINE]] void refuse(const void* object, code_address at) const noexcept;
  /// Reports a write to the free slot, if there was one.
  [[LIDO_COLD, LIDO_NOINLINE]] void look_into(void* slot, code_address at) const noexcept;
  /// Informs Valgrind of the release, if the program runs under Valgrind.
  void tell_release(const void* slot) const noexcept;

  std::byte* const first_;
  std::unique_ptr<slot_record[]> own_records_;  ///< null if the program provides the memory
  slot_record* const records_;
  atomic<bool> ends_{false};

 private:
  [[nodiscard, LIDO_ALWAYS_INLINE]] static bool end_use(slot_record& record,
                                                        code_address at) noexcept {
    return record.try_end(record.last_step(), at, this_thread_id());
  }

  void report(misuse_kind kind, const void* object, code_address at) const noexcept;
  void report_leaks() const noexcept;
  [[nodiscard]] const slot_record& record_at(const void* object) const noexcept {
    return records_[distance_to(object) / trace_.stride];
  }
  [[nodiscard]] bool is_intact(const void* slot) const noexcept {
    return pattern_.is_intact(slot, record_at(slot).uses());
  }

  atomic<std::uint64_t>
      admitted_;  ///< number of slots that may be released: all, or 0 after destruction
  fill_pattern pattern_;
  std::string_view name_;
  pool_trace trace_;
};

/// Checks slots of type T, and watches slots of up to `Whole` bytes completely. `no_checks` has the
/// same interface and does nothing.
///
/// A slot is free, and contains the fill pattern, from `after_destruction` to
/// `before_construction`. If nothing is wrong, all functions are wait-free: a release runs one
/// compare-and-swap on the slot's own word.
template <class T, std::size_t Whole>
class slot_checks : public checked_slots {
 public:
  static constexpr bool active = true;
  static constexpr std::size_t record_bytes = sizeof(slot_record);
  using code_address = detail::code_address;

  slot_checks(std::string_view name, std::byte* first, std::uint32_t capacity, std::byte* records)
      : checked_slots(name, first, capacity, sizeof(T), pattern, records) {}

  /// Reports a write to the slot while it was in the free list. Takes the slow path in a thread
  /// whose id is not known. Under Valgrind, no thread's id is known.
  [[LIDO_ALWAYS_INLINE]] void before_construction(void* slot, code_address at) const noexcept {
    if (hardly_ever(own_checked_thread_id() == 0) ||
        hardly_ever(!pattern.is_intact(slot, use_of(slot)))) {
      look_into(slot, at);
    }
  }

  [[LIDO_ALWAYS_INLINE]] void after_construction(const void* object, code_address at) noexcept {
    records_[slot_of(object)].begin_use(at, this_thread_id());
  }

  /// Returns true if an acquire may proceed. Reports a misuse and returns false if the pool is
  /// being destroyed or has been destroyed.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool admits(code_address at) const noexcept {
    // relaxed: as in admitted()
    if (hardly_ever(ends_.load(std::memory_order_relaxed))) {
      refuse(nullptr, at);
      return false;
    }
    return true;
  }

  /// Ends the use of an object. Of several releases of one use, exactly one succeeds. Reports any
  /// other release, and returns false. Also works for a destroyed pool, as far as the state of its
  /// memory allows.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool try_end(const void* object, code_address at) noexcept {
    return try_end_of(object, sizeof(T), at);
  }

  /// Fills a slot that returns to the free list, after its use has ended or its object's
  /// constructor has thrown.
  [[LIDO_ALWAYS_INLINE]] void after_destruction(void* slot) const noexcept {
    pattern.fill(slot, use_of(slot));
    if (hardly_ever(own_checked_thread_id() == 0)) {
      tell_release(slot);
    }
  }

 private:
  static constexpr fill_pattern pattern{sizeof(T), Whole};

  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uintptr_t slot_of(const void* object) const noexcept {
    return distance_to(object) / sizeof(T);
  }

  /// Returns the number of the use. This number determines which bytes are watched.
  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uint64_t use_of(const void* slot) const noexcept {
    return pattern.watches_all() ? 0 : records_[slot_of(slot)].uses();
  }
};

/// The checks of a pool whose traits ask for them.
template <class Traits, class T>
struct pool_checks<Traits, T, true> {
  static_assert(Traits::watched_bytes >= fill_pattern::least_whole,
                "lido: Traits::watched_bytes must be at least 64");
  using type = slot_checks<T, Traits::watched_bytes>;
};

}  // namespace lido::inline v0::detail
