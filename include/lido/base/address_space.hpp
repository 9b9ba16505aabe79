/// @file
/// Internal. A reserved range of addresses, with memory behind parts of it.
#pragma once

#include <cstddef>

namespace lido::inline v0::detail {

/// Returns the bytes in a page of this system, a power of two.
[[nodiscard]] std::size_t page_size() noexcept;

/// A reserved range of addresses for one array, which can grow without moving.
///
/// Reserving costs no memory. An access to a part that was never committed ends the program. Not
/// thread-safe: a thread that changes a part must be the only one that uses it.
class address_space {
 public:
  /// Reserves the range. Throws std::bad_alloc. Requires: `alignment` is a power of two.
  address_space(std::size_t size, std::size_t alignment);
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;
  ~address_space();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Provides memory for all pages that contain a byte of the range; new pages read as zeros.
  /// Returns 0, or the system's error number; a failed call has no effect that matters.
  [[nodiscard]] int commit(std::size_t offset, std::size_t size) const noexcept;

  /// Returns the memory of the range to the system. Returns 0, or the system's error number; the
  /// memory is then unchanged. Requires: `offset` is a multiple of the page size; the range ends at
  /// such a multiple, or at the end of the reserved range.
  [[nodiscard]] int decommit(std::size_t offset, std::size_t size) const noexcept;

 private:
  std::byte* mapping_;
  std::size_t mapped_;
  std::byte* data_;
  std::size_t size_;
};

}  // namespace lido::inline v0::detail
