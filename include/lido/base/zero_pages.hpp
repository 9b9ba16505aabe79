/// @file
/// Internal. Memory of zeros, straight from the system.
#pragma once

#include <cstddef>

namespace lido::detail {

/// `bytes` bytes of zeros, or null if the system refuses. Pages that are never touched cost
/// nothing. Runs no code of users.
[[nodiscard]] std::byte* map_zero_pages(std::size_t bytes) noexcept;

/// Requires: `map_zero_pages(bytes)` gave it.
void unmap_zero_pages(std::byte* pages, std::size_t bytes) noexcept;

}  // namespace lido::detail
