/// @file
/// Internal. Owns one aligned block of raw memory.
#pragma once

#include <cstddef>
#include <new>

namespace lido::detail {

/// Raw bytes: not initialised, not touched, so pages of a large block appear when they are used.
class aligned_buffer {
 public:
  /// Throws std::bad_alloc. Requires: `alignment` is a power of two.
  aligned_buffer(std::size_t size, std::size_t alignment)
      : data_(static_cast<std::byte*>(::operator new (size, std::align_val_t{alignment}))),
        size_(size),
        alignment_(alignment) {}

  aligned_buffer(const aligned_buffer&) = delete;
  aligned_buffer& operator=(const aligned_buffer&) = delete;
  // Not the sized form: Clang 14 declares it only with -fsized-deallocation.
  ~aligned_buffer() { ::operator delete (data_, std::align_val_t{alignment_}); }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t alignment_;
};

}  // namespace lido::detail
