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
/// Releases are biased towards the thread that acquired: it ends the use of a slot by a store,
/// followed by a look at `sharing_`. The first thread that releases what another acquired sets
/// `sharing_` and runs a heavy fence. After it, each holder's store is visible, or the holder will
/// see `sharing_`; and who sees it decides by a compare-and-swap. From then on all releases of this
/// pool do. (Biased as the locks of Dice, Huang, Yang 2001, with the fence of thread_cache.hpp.)
///
/// After its end it may still be asked to admit a release, by a caller whose pool has died: it
/// then admits no slot, so nothing of it is read but that.
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

 protected:
  [[nodiscard]] std::uintptr_t distance_to(const void* object) const noexcept;
  [[nodiscard]] std::uint64_t admitted() const noexcept {
    // relaxed: differs only if the pool has died, and whoever releases to it then is wrong anyway
    return admitted_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] slot_record& record(std::size_t slot) noexcept { return records_[slot]; }

  /// Whether threads other than the holders have begun to release. Only after a light fence, or for
  /// a guess.
  [[nodiscard]] bool releases_are_shared() const noexcept {
    // relaxed: the light fence before it keeps the order, the heavy fence does the rest
    return sharing_.load(std::memory_order_relaxed) != sharing::none;
  }
  /// Second half of the holder's release where releases are shared: whether it was the one.
  [[nodiscard, gnu::noinline]] bool settle_as_holder(slot_index slot, slot_word use,
                                                     place at) noexcept;
  /// A release that is not by the holder, or of what is not in use.
  [[nodiscard, gnu::noinline]] bool release_as_other(slot_index slot, place at) noexcept;

  // The misuses. Each calls the handler and returns if it does.
  [[gnu::cold, gnu::noinline]] void refuse_stranger(const void* object, place at) const noexcept;
  [[gnu::cold, gnu::noinline]] void report_overwritten(const void* slot, place at) const noexcept;

 private:
  /// none: each object was released by the thread that acquired it, so far. announced: a thread is
  /// about to make all others see that this has ended. complete: they have seen it.
  enum class sharing : std::uint32_t { none, announced, complete };

  void share_releases() noexcept;
  void refuse_second_release(slot_index slot, place at) const noexcept;
  void report_leaks() const noexcept;
  void look_for_overwritten() const noexcept;

  std::byte* first_;
  atomic<std::uint64_t> admitted_;  ///< slots that may be released: all, or none after the end
  atomic<sharing> sharing_;
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
