/// @file
/// Internal. A reserved range of addresses, parts of which have memory.
#pragma once

#include <cstddef>
#include <string_view>

namespace lido::inline v0::detail {

/// Returns the system's page size in bytes, a power of two.
[[nodiscard]] std::size_t page_size() noexcept;

/// A reserved range of addresses for one array, so that the array can grow without moving.
///
/// Reserving costs no memory. An access to a part that was never committed ends the program. Not
/// thread-safe: a thread that changes a part must be the only one that uses that part.
class address_space {
 public:
  /// Reserves a range of `size` bytes. Throws a std::bad_alloc that names the pool. Requires:
  /// `alignment` is a power of two.
  address_space(std::size_t size, std::size_t alignment, std::string_view pool_name = {});
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;
  ~address_space();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Provides memory for all pages that contain a byte of the range; new pages contain zeros.
  /// Returns 0, or the system's error number. A failed call has no effect that the caller needs to
  /// undo.
  [[nodiscard]] int commit(std::size_t offset, std::size_t size) const noexcept;

  /// Gives the memory of the range back to the system. Returns 0, or the system's error number. A
  /// failed call leaves the memory unchanged. Requires: `offset` is a multiple of the page size.
  /// The range ends at a multiple of the page size, or at the end of the reserved range.
  [[nodiscard]] int decommit(std::size_t offset, std::size_t size) const noexcept;

 private:
  std::byte* mapping_;
  std::size_t mapped_;
  std::byte* data_;
  std::size_t size_;
};

}  // namespace lido::inline v0::detail
