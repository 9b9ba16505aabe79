/// @file
/// Internal. Addresses that are kept from the start, with memory behind some of them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace lido::detail {

/// Bytes in a page of this system: a power of two.
[[nodiscard]] std::size_t page_size() noexcept;

/// A range of addresses for one array that may grow where it lies.
///
/// Reserving costs no memory; an access where there has never been any ends the program. Not
/// thread-safe: whoever changes a part must be alone there.
class address_space {
 public:
  /// Throws std::bad_alloc. Requires: `alignment` is a power of two.
  address_space(std::size_t size, std::size_t alignment);
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;
  ~address_space();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Puts memory behind all pages that hold a byte of the range; zeros where there was none.
  /// Returns 0, or the error number of the system, and then has changed nothing that matters.
  [[nodiscard]] int commit(std::size_t offset, std::size_t size) const noexcept;

  /// Takes the memory away again. Returns 0, or the error number of the system, and then the memory
  /// is as before. Requires: `offset` is a multiple of the page size, and the range ends at one or
  /// at the end of all.
  [[nodiscard]] int decommit(std::size_t offset, std::size_t size) const noexcept;

  /// Gives the memory of all pages that lie within the range back to the system, which supplies
  /// zeros when they are used again. Without an effect where the system refuses.
  void discard(std::size_t offset, std::size_t size) const noexcept;

  /// The same in pieces that take some milliseconds at most each. Calls `after_each()`, which must
  /// not throw.
  template <class Note>
  void discard(std::size_t offset, std::size_t size, const Note& after_each) const noexcept {
    const std::size_t end = offset + size;
    while (offset < end) {
      // At multiples, so that no page lies across the end of a piece.
      const std::size_t next = std::min((offset / piece + 1) * piece, end);
      discard(offset, next - offset);
      after_each();
      offset = next;
    }
  }

 private:
  static constexpr std::size_t piece = std::size_t{32} << 20U;  ///< a multiple of any page size

  std::byte* mapping_;
  std::size_t mapped_;
  std::byte* data_;
  std::size_t size_;
};

}  // namespace lido::detail
