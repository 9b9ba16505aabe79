/// @file
/// Internal. An array of which nothing is in memory before it is used.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "lido/base/fail.hpp"
#include "lido/concurrency/mapped_array.hpp"

namespace lido::detail {

/// Whether all items of an array are there from the start, or come by `extend_to`.
enum class room : bool { fixed, grows };

/// Up to `most` items whose first value is all zeros. A fixed one writes none of them.
///
/// Requires: zero bytes are a valid T. One thread at a time may extend it.
template <class T>
class zeroed_array {
 public:
  /// Throws std::bad_alloc.
  zeroed_array(std::size_t most, room kind) : most_(most) {
    if (kind == room::grows) {
      growing_ = std::make_unique<mapped_array<T>>(most);
      items_ = &(*growing_)[0];
      return;
    }
    if (most == 0) {
      return;
    }
    // One item more: room to align the first one.
    fixed_.reset(std::calloc(most + 1, sizeof(T)));  // NOLINT(*-no-malloc): new would write zeros
    if (fixed_ == nullptr) {
      throw_bad_alloc();
    }
    const auto start = std::bit_cast<std::uintptr_t>(fixed_.get());
    const std::size_t skipped = (alignof(T) - start % alignof(T)) % alignof(T);
    items_ = static_cast<T*>(static_cast<void*>(static_cast<std::byte*>(fixed_.get()) + skipped));
  }

  [[nodiscard]] T& operator[](std::size_t at) noexcept { return items_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const noexcept { return items_[at]; }

  /// Makes room for `size` items. Returns 0, or the system's error number; the array is then as
  /// before. Requires: size <= most.
  [[nodiscard]] int extend_to(std::size_t size) noexcept {
    return growing_ == nullptr ? 0 : growing_->extend_to(size);
  }

  [[nodiscard]] std::size_t size() const noexcept {
    return growing_ == nullptr ? most_ : growing_->size();
  }

 private:
  struct free_memory {
    void operator()(void* memory) const noexcept { std::free(memory); }  // NOLINT(*-no-malloc)
  };

  std::size_t most_;
  std::unique_ptr<mapped_array<T>> growing_;
  std::unique_ptr<void, free_memory> fixed_;
  T* items_ = nullptr;
};

}  // namespace lido::detail
