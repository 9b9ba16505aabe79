/// @file
/// Internal. An array that grows where it lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

#include "lido/base/address_space.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

/// Up to `most` items, of which the first `size()` exist. They never move and live as long as the
/// array, so a reader needs to know only that an item has existed once.
///
/// One thread at a time may extend it, while others use the items that they know.
template <class T>
class mapped_array {
 public:
  /// Empty, with addresses for `most` items. Throws std::bad_alloc.
  explicit mapped_array(std::size_t most)
      : space_(most * sizeof(T), alignof(T)),
        items_(static_cast<T*>(static_cast<void*>(space_.data()))) {}
  mapped_array(const mapped_array&) = delete;
  mapped_array& operator=(const mapped_array&) = delete;
  ~mapped_array() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      std::destroy_n(items_, size());
    }
  }

  [[nodiscard]] T& operator[](std::size_t at) noexcept { return items_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const noexcept { return items_[at]; }

  [[nodiscard]] std::size_t size() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-store (2), so that a thread that looks
    // at all items finds each constructed, though it learned of none by other means
    return size_.load(std::memory_order_acquire);
  }

  /// Value-initialises items until there are `size`; no effect if there are already. Returns 0, or
  /// the system's error number; the array is then as before. Requires: size <= most.
  [[nodiscard]] int extend_to(std::size_t size) noexcept {
    const std::size_t before = this->size();
    if (size <= before) {
      return 0;
    }
    if (const int error = commit(size * sizeof(T)); error != 0) {
      return error;
    }
    std::uninitialized_value_construct_n(items_ + before, size - before);
    // (2) - this release-store synchronizes-with the acquire-load (1)
    size_.store(size, std::memory_order_release);
    return 0;
  }

  /// Bytes of memory.
  [[nodiscard]] std::size_t memory() const noexcept { return size() * sizeof(T); }

 private:
  /// Commits more than asked for, so that few extensions need the system. Memory that is never
  /// written to costs nothing.
  [[nodiscard]] int commit(std::size_t bytes) noexcept {
    constexpr std::size_t step = 65536;
    const std::size_t wanted = std::min((bytes + step - 1) / step * step, space_.size());
    const int error = wanted > committed_ ? space_.commit(committed_, wanted - committed_) : 0;
    committed_ = error == 0 ? std::max(committed_, wanted) : committed_;
    return error;
  }

  address_space space_;
  T* items_;
  std::size_t committed_ = 0;  ///< bytes
  atomic<std::size_t> size_{0};
};

}  // namespace lido::detail
