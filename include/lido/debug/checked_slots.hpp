/// @file
/// Internal. What all checked pools have in common, whatever they hold: records, extent, reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/slot_record.hpp"

namespace lido::detail {

/// Records of the slots of one pool, and the words for what is wrong with them.
///
/// After its end it may still be asked to admit a release, by a caller whose pool has died: its
/// extent then is zero, so nothing of it is read but that.
class checked_slots {
 public:
  /// Throws std::bad_alloc. `name` must live as long as this. Fills all slots.
  checked_slots(std::string_view name, std::byte* first, std::size_t stride,
                std::uint32_t capacity);
  checked_slots(const checked_slots&) = delete;
  checked_slots& operator=(const checked_slots&) = delete;

  /// Reports objects in use, and free slots that were written to.
  ~checked_slots();

  [[nodiscard]] bool is_used(slot_index slot) const noexcept { return records_[slot].is_used(); }

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] const std::byte* address_of(slot_index slot) const noexcept {
    return first_ + stride_ * slot;
  }
  [[nodiscard]] const slot_record& record(slot_index slot) const noexcept { return records_[slot]; }

 protected:
  [[nodiscard]] std::uintptr_t distance_to(const void* object) const noexcept;
  [[nodiscard]] std::uintptr_t extent() const noexcept {
    // relaxed: differs only if the pool has died, and whoever releases to it then is wrong anyway
    return extent_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] slot_record& record(slot_index slot) noexcept { return records_[slot]; }

  // The misuses. Each calls the handler and returns if it does.
  [[gnu::cold, gnu::noinline]] void refuse_stranger(const void* object, place at) const noexcept;
  [[gnu::cold, gnu::noinline]] void refuse_second_release(slot_index slot, place at) const noexcept;
  [[gnu::cold, gnu::noinline]] void report_overwritten(const void* object, place at) const noexcept;

 private:
  void report_leaks() const noexcept;
  void look_for_overwritten() const noexcept;

  std::byte* first_;
  atomic<std::uintptr_t> extent_;  ///< bytes of all slots; 0 after the end
  std::unique_ptr<slot_record[]> records_;
  std::size_t stride_;
  std::uint32_t capacity_;
  std::string_view name_;
};

inline std::uintptr_t checked_slots::distance_to(const void* object) const noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a foreign pointer is a number here
  return reinterpret_cast<std::uintptr_t>(object) - reinterpret_cast<std::uintptr_t>(first_);
}

}  // namespace lido::detail
