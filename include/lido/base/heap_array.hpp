/// @file
/// Internal. An array whose size is known when it is made.
#pragma once

#include <cstddef>
#include <memory>

namespace lido::detail {

/// `size` value-initialised items.
template <class T>
class heap_array {
 public:
  /// Throws std::bad_alloc.
  explicit heap_array(std::size_t size) : items_(std::make_unique<T[]>(size)), size_(size) {}

  [[nodiscard]] T& operator[](std::size_t at) noexcept { return items_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const noexcept { return items_[at]; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Bytes of memory.
  [[nodiscard]] std::size_t memory() const noexcept { return size_ * sizeof(T); }

 private:
  std::unique_ptr<T[]> items_;
  std::size_t size_;
};

}  // namespace lido::detail
