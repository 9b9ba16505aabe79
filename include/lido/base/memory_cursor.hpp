/// @file
/// Internal. The division of one piece of memory into parts.
#pragma once

#include <cstddef>

namespace lido::inline v0::detail {

/// Divides memory into aligned parts, one after another. Without memory, it only finds out how many
/// bytes the parts need.
class memory_cursor {
 public:
  memory_cursor() noexcept = default;
  /// Requires: `begin` is aligned for each part, and has as many bytes as the parts need.
  explicit memory_cursor(std::byte* begin) noexcept : begin_(begin) {}

  /// Returns the next part, or null if there is no memory.
  std::byte* take(std::size_t bytes, std::size_t alignment) noexcept;
  /// Returns the next part, filled with zeros, or null if there is no memory.
  std::byte* take_zeros(std::size_t bytes, std::size_t alignment) noexcept;

  /// Returns how many bytes all parts need. The result is SIZE_MAX if their number overflows.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] bool has_memory() const noexcept { return begin_ != nullptr; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t alignment_ = 1;
};

}  // namespace lido::inline v0::detail
