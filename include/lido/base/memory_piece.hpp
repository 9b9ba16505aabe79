/// @file
/// Internal. Memory of the program that a pool owns during its lifetime.
#pragma once

#include <cstddef>
#include <string_view>

namespace lido::inline v0 {

class memory_source;

namespace detail {

class memory_cursor;

/// Owns memory from a source, or none.
class memory_piece {
 public:
  memory_piece() noexcept = default;
  /// Allocates as many bytes as `needed` needs, and lets `parts` divide them. Has no effect if
  /// `source` is null. Throws std::invalid_argument, with both numbers, if the source has too few
  /// bytes. Also throws std::bad_alloc, and whatever the source throws.
  memory_piece(memory_source* source, const memory_cursor& needed, std::string_view pool_name,
               memory_cursor& parts);
  memory_piece(const memory_piece&) = delete;
  memory_piece& operator=(const memory_piece&) = delete;
  ~memory_piece();

 private:
  memory_source* source_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t alignment_ = 1;
};

}  // namespace detail
}  // namespace lido::inline v0
