/// @file
/// Internal. Zeroed memory for tables that a program may use little of.
#pragma once

#include <cstddef>

namespace lido::inline v0::detail {

/// Least bytes that are mapped: mapping them costs as much as clearing some pages.
inline constexpr std::size_t least_mapped_zeros = 16384;

/// Returns `bytes` zeroed bytes, aligned as by malloc; null for 0. A large request gets pages of
/// the system, which are not resident before they are written to. `calloc` may reuse memory, and
/// then writes to all of it at once. Throws std::bad_alloc.
[[nodiscard]] std::byte* allocate_zeros(std::size_t bytes);

/// Frees memory from `allocate_zeros`.
void free_zeros(void* memory, std::size_t bytes) noexcept;

}  // namespace lido::inline v0::detail
