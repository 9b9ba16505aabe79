/// @file
/// Internal. The memory behind the slots of a pool that grows, and all that is kept for each slot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lido/base/address_space.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/memory/slot_array.hpp"

namespace lido::detail {

/// The `segment_memory` of an object_pool; see magazine/growing_source.hpp, also for what
/// may run beside what.
template <class T, class Tracking, class Life>
class segment_backing {
 public:
  /// Requires: all outlive this.
  segment_backing(const slot_array<T, address_space>& slots, Tracking& tracking,
                  Life& life) noexcept
      : slots_(slots), tracking_(tracking), life_(life) {}
  segment_backing(const segment_backing&) = delete;
  segment_backing& operator=(const segment_backing&) = delete;
  // Whoever gets these addresses next must find them usable.
  ~segment_backing() { slot_shadow<sizeof(T)>::open_all(slots_.first(), backed_); }

  [[nodiscard]] int commit(slot_index first, std::uint32_t count) noexcept {
    if constexpr (Tracking::tracks) {
      if (const int error = tracking_.extend_to(first + count); error != 0) {
        return error;
      }
    }
    if (const int error = life_.extend_to(first + count); error != 0) {
      return error;
    }
    const int error = slots_.storage().commit(sizeof(T) * first, sizeof(T) * count);
    if (error == 0) {
      slot_shadow<sizeof(T)>::close_all(place_of(first), count);
      backed_ = std::max(backed_, first + count);
    }
    return error;
  }

  /// Destroys the objects that free slots keep.
  template <class Note>
  void vacate([[maybe_unused]] slot_index first, [[maybe_unused]] std::uint32_t count,
              [[maybe_unused]] const Note& after_each) noexcept {
    if constexpr (Life::keeps) {
      life_.destroy_kept(slots_, first, count, after_each);
      slot_shadow<sizeof(T)>::close_all(place_of(first), count);
    }
  }

  [[nodiscard]] int decommit(slot_index first, std::uint32_t count) noexcept {
    // The shadow stays closed: these addresses are nobody else's while the pool lives.
    return slots_.storage().decommit(sizeof(T) * first, sizeof(T) * count);
  }

 private:
  [[nodiscard]] const std::byte* place_of(slot_index slot) const noexcept {
    return slots_.first() + sizeof(T) * slot;
  }

  const slot_array<T, address_space>& slots_;
  Tracking& tracking_;
  Life& life_;
  std::uint32_t backed_ = 0;  ///< no slot above has ever had memory
};

}  // namespace lido::detail
