/// @file
/// Internal. Which slots are in use: a byte each, or nothing at all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/base/heap_array.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/mapped_array.hpp"

namespace lido::detail {

/// `Tracks` false: no memory, no work. `Array` over a mapped_array: for slots that come and go.
template <bool Tracks, template <class> class Array = heap_array>
class use_tracking {
 public:
  static constexpr bool tracks = false;
  explicit use_tracking(std::uint32_t /*capacity*/) noexcept {}
  [[nodiscard]] static std::uint32_t size() noexcept { return 0; }
  void mark_used(slot_index /*slot*/) noexcept {}
  void mark_free(slot_index /*slot*/) noexcept {}
  [[nodiscard]] static std::size_t memory() noexcept { return 0; }
};

template <template <class> class Array>
class use_tracking<true, Array> {
 public:
  static constexpr bool tracks = true;

  /// Throws std::bad_alloc.
  explicit use_tracking(std::uint32_t capacity) : used_(capacity) {}

  /// Makes room for the slots below `slots`; see mapped_array.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept { return used_.extend_to(slots); }

  /// Slots there was ever room for.
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(used_.size());
  }

  /// Bytes of memory.
  [[nodiscard]] std::size_t memory() const noexcept { return used_.memory(); }

  void mark_used(slot_index slot) noexcept {
    // (1) - this release-store synchronizes-with the acquire-load (2), so the object is complete
    used_[slot].store(1, std::memory_order_release);
  }

  void mark_free(slot_index slot) noexcept {
    // relaxed: a walk beside a release of the same object is the caller's to prevent
    used_[slot].store(0, std::memory_order_relaxed);
  }

  [[nodiscard]] bool is_used(slot_index slot) const noexcept {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    return used_[slot].load(std::memory_order_acquire) != 0;
  }

 private:
  Array<atomic<std::uint8_t>> used_;
};

}  // namespace lido::detail
