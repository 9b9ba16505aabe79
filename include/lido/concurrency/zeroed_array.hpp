/// @file
/// Internal. An array whose memory appears when it is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/base/address.hpp"
#include "lido/base/address_space.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/zeroed_memory.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// Growth of an array or list: all items exist from the start, or `extend_to` adds them.
enum class growth : bool { none, by_steps };

/// Up to `most` items whose first value is all zeros, of which the first `size()` can be used. They
/// never move, and the array writes none of them.
///
/// Requires: zero bytes are a valid T. One thread at a time may extend it, while others use the
/// items that they know.
template <class T>
class zeroed_array {
 public:
  /// Throws std::bad_alloc.
  zeroed_array(std::size_t most, growth kind)
      // One item more, so that the first one can be aligned.
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

  /// Selects the items of `owner`, which lives longer. Has none itself, so that its size stays 0.
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

  /// Adds items up to `size`; no effect if there are as many, or if they are another's. Returns 0,
  /// or the system's error number; the array is then unchanged. Requires: size <= most.
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
  /// Returns the most there can be if the size overflows, so that no system has so much.
  static constexpr std::size_t bytes_of(std::size_t items, std::size_t more) noexcept {
    return items <= SIZE_MAX / sizeof(T) - more ? (items + more) * sizeof(T) : SIZE_MAX;
  }

  /// Returns the bytes that have memory: more than asked for, so that few extensions need the
  /// system. Memory that is never written to costs nothing.
  [[nodiscard]] std::size_t committed(std::size_t size) const noexcept {
    constexpr std::size_t step = 65536;
    const std::size_t wanted = (size * sizeof(T) + step - 1) / step * step;
    return wanted < space_->size() ? wanted : space_->size();
  }

  std::byte* fixed_;                ///< owned; null without items, or if they grow
  address_space* space_ = nullptr;  ///< owned; memory of items that grow, else null
  atomic<std::size_t> size_;
  T* items_ = nullptr;
};

}  // namespace lido::inline v0::detail
