/// @file
/// Internal. Which slots are in use: a byte each, or nothing at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

/// `Tracks` false: no memory, no work.
template <bool Tracks>
class use_tracking {
 public:
  explicit use_tracking(std::uint32_t /*capacity*/) noexcept {}
  void mark_used(slot_index /*slot*/) noexcept {}
  void mark_free(slot_index /*slot*/) noexcept {}
};

template <>
class use_tracking<true> {
 public:
  /// Throws std::bad_alloc.
  explicit use_tracking(std::uint32_t capacity)
      : used_(std::make_unique<atomic<std::uint8_t>[]>(capacity)) {}

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
  std::unique_ptr<atomic<std::uint8_t>[]> used_;
};

}  // namespace lido::detail
