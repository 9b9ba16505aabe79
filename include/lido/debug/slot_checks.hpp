/// @file
/// Internal. The checks of a pool with `policy::checked`, called around every acquire and release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/debug/checked_slots.hpp"
#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/thread_label.hpp"
#include "lido/debug/valgrind.hpp"

namespace lido::detail {

/// For slots of `Size` bytes. `no_checks` has the same interface and does nothing.
///
/// A slot is free, with the fill pattern in it, from `after_destruction` to `before_construction`.
/// Wait-free where nothing is wrong: one compare-and-swap of the slot's own word for each release.
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
      valgrind_peek(slot, Size);
    }
    if (!is_filled(slot, Size)) [[unlikely]] {
      report_overwritten(slot, at);
    }
    if (valgrind_) [[unlikely]] {
      valgrind_acquire(this, slot, Size);
    }
  }

  [[gnu::always_inline]] void after_construction(const void* object, place at) noexcept {
    record(index_of(object)).mark_used(at, this_thread_id());
  }

  /// Whether `object` is one of this pool's and in use; then it is not any more. If not, says so
  /// to the handler. Also works, as far as memory allows, for a pool that has ended.
  [[nodiscard, gnu::always_inline]] bool admit_release(const void* object, place at) noexcept {
    const std::uintptr_t distance = distance_to(object);
    if (distance >= extent() || distance % Size != 0) [[unlikely]] {
      refuse_stranger(object, at);
      return false;
    }
    const auto slot = static_cast<slot_index>(distance / Size);
    if (!record(slot).try_mark_free(at, this_thread_id())) [[unlikely]] {
      refuse_second_release(slot, at);
      return false;
    }
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
  [[nodiscard]] slot_index index_of(const void* object) const noexcept {
    return static_cast<slot_index>(distance_to(object) / Size);
  }

  std::byte* first_;
  bool valgrind_;
};

}  // namespace lido::detail
