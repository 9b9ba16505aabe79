/// @file
/// Internal. What all checked pools have in common, whatever they hold: records, extent, reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/release_bias.hpp"
#include "lido/debug/slot_record.hpp"

namespace lido::detail {

/// Records of the slots of one pool, and the words for what is wrong with them.
///
/// After its end it may still be asked to admit a release, by a caller whose pool has died: it
/// then admits no slot, so nothing of it is read but that.
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

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] std::size_t memory() const noexcept { return capacity_ * sizeof(slot_record); }
  [[nodiscard]] const std::byte* address_of(slot_index slot) const noexcept {
    return first_ + stride_ * slot;
  }

 protected:
  [[nodiscard]] static std::uintptr_t address_as_number(const void* object) noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): that is what is asked for
    return reinterpret_cast<std::uintptr_t>(object);
  }
  [[nodiscard]] std::uintptr_t distance_to(const void* object) const noexcept {
    return address_as_number(object) - address_as_number(first_);
  }
  [[nodiscard]] std::uint64_t admitted() const noexcept {
    // relaxed: differs only if the pool has died, and whoever releases to it then is wrong anyway
    return admitted_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] slot_record& record(std::size_t slot) noexcept { return records_[slot]; }
  [[nodiscard]] const slot_record& record(std::size_t slot) const noexcept {
    return records_[slot];
  }
  [[nodiscard]] release_bias& bias() noexcept { return bias_; }

  // The misuses. Each calls the handler and returns if it does.
  [[gnu::cold, gnu::noinline]] void refuse_stranger(const void* object, place at) const noexcept;
  [[gnu::cold, gnu::noinline]] void refuse_second_release(const void* object,
                                                          place at) const noexcept;
  [[gnu::cold, gnu::noinline]] void report_overwritten(const void* object, place at) const noexcept;

 private:
  void report_leaks() const noexcept;
  void look_for_overwritten() const noexcept;

  [[nodiscard]] bool is_intact(slot_index slot) const noexcept {
    return pattern_.is_intact(address_of(slot), records_[slot].last_use());
  }

  std::byte* first_;
  atomic<std::uint64_t> admitted_;  ///< slots that may be released: all, or none after the end
  release_bias bias_;
  std::unique_ptr<slot_record[]> records_;
  fill_pattern pattern_;
  std::size_t stride_;
  std::uint32_t capacity_;
  std::string_view name_;
};

}  // namespace lido::detail
