/// @file
/// Internal. Zeroed memory for tables of which a program may use only a small part.
#pragma once

#include <cstddef>

namespace lido::inline v0::detail {

/// Smallest size of an array that gets its own mapping, since a mapping costs as much as clearing a
/// few pages.
inline constexpr std::size_t least_mapped_zeros = 16384;

/// Returns `bytes` zeroed bytes, aligned as malloc aligns them; null for 0. A large request gets
/// pages from the system. Such pages are not resident until they are written to. `calloc` may reuse
/// memory; it then clears all of that memory at once. Throws std::bad_alloc.
[[nodiscard]] std::byte* allocate_zeros(std::size_t bytes);

/// Frees memory from `allocate_zeros`.
void free_zeros(void* memory, std::size_t bytes) noexcept;

}  // namespace lido::inline v0::detail
