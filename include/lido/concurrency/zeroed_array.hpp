/// @file
/// Internal. An array that gets memory from the system only as its items are used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/base/address.hpp"
#include "lido/base/address_space.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/zeroed_memory.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// How an array or list grows: all items exist from the start, or `extend_to` adds them.
enum class growth : bool { none, by_steps };

/// An array of up to `most` items. All bytes of an item are initially zero, and the first `size()`
/// items can be used. Items never move, and the array itself never writes to them.
///
/// Requires: zero bytes are a valid T. Only one thread at a time may extend the array; meanwhile,
/// others may use the items that they know of.
template <class T>
class zeroed_array {
 public:
  /// Selects an array in `memory`, which outlives the array.
  struct placed {
    void* memory;
  };
  /// Requires: `at.memory` is aligned for a T, and contains `size` items whose bytes are zero.
  zeroed_array(std::size_t size, placed at) noexcept
      : fixed_(nullptr), size_(size), items_(static_cast<T*>(at.memory)) {}

  /// Throws std::bad_alloc.
  zeroed_array(std::size_t most, growth kind)
      // Allocates one extra item, so that the first item can be aligned.
      : fixed_(allocate_zeros(kind == growth::none && most != 0 ? bytes_of(most, 1) : 0)),
        size_(kind == growth::none ? most : 0) {
    if (kind == growth::by_steps) {
      space_ = new address_space(bytes_of(most, 0), alignof(T));
      items_ = static_cast<T*>(static_cast<void*>(space_->data()));
    } else if (most != 0) {
      const auto start = address_bits(fixed_);
      const std::size_t skipped = (alignof(T) - start % alignof(T)) % alignof(T);
      items_ = static_cast<T*>(static_cast<void*>(fixed_ + skipped));
    }
  }

  /// Selects an array that uses the items of `owner`. Such an array owns no items, so its size
  /// stays 0. Requires: `owner` outlives the array.
  struct borrowed {
    zeroed_array& owner;
  };
  explicit zeroed_array(borrowed from) noexcept
      : fixed_(nullptr), size_(0), items_(from.owner.items_) {}

  zeroed_array(const zeroed_array&) = delete;
  zeroed_array& operator=(const zeroed_array&) = delete;
  ~zeroed_array() {
    if (fixed_ != nullptr) {
      free_zeros(fixed_, bytes_of(size(), 1));
    }
    delete space_;
  }

  [[nodiscard]] T& operator[](std::size_t at) noexcept { return items_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const noexcept { return items_[at]; }

  [[nodiscard]] std::size_t size() const noexcept {
    // relaxed: a thread uses only items that it learned of by other means
    return size_.load(std::memory_order_relaxed);
  }

  /// Adds items until the array has `size` items. Has no effect if it already has as many, or if
  /// its items belong to another array. Returns 0, or the system's error number. A failed call
  /// leaves the array unchanged. Requires: size <= most.
  [[nodiscard, LIDO_ASSERTS]] int extend_to(std::size_t size) noexcept {
    if (size <= this->size() || space_ == nullptr) {
      return 0;
    }
    LIDO_ASSERT(size <= space_->size() / sizeof(T), "an array is extended beyond its most items");
    const std::size_t before = committed(this->size());
    const std::size_t wanted = committed(size);
    if (const int error = before < wanted ? space_->commit(before, wanted - before) : 0;
        error != 0) {
      return error;
    }
    // relaxed: as in size
    size_.store(size, std::memory_order_relaxed);
    return 0;
  }

 private:
  /// Returns the size of `items + more` items in bytes. If the size overflows, returns SIZE_MAX,
  /// which no system can provide.
  static constexpr std::size_t bytes_of(std::size_t items, std::size_t more) noexcept {
    return items <= SIZE_MAX / sizeof(T) - more ? (items + more) * sizeof(T) : SIZE_MAX;
  }

  /// Returns how many bytes get memory for `size` items. They are rounded up, so that few
  /// extensions call the system. Memory that is never written to costs nothing.
  [[nodiscard]] std::size_t committed(std::size_t size) const noexcept {
    constexpr std::size_t step = 65536;
    const std::size_t wanted = (size * sizeof(T) + step - 1) / step * step;
    return wanted < space_->size() ? wanted : space_->size();
  }

  std::byte* fixed_;                ///< owned; null for none, as in an array that grows
  address_space* space_ = nullptr;  ///< owned; memory of an array that grows, else null
  atomic<std::size_t> size_;
  T* items_ = nullptr;
};

}  // namespace lido::inline v0::detail
