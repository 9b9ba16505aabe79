/// @file
/// Internal. Memory of zeros, for tables of which a program may use little.
#pragma once

#include <cstddef>

namespace lido::inline v0::detail {

/// Bytes of the smallest piece that is mapped. To map one costs as much as to clear some pages.
inline constexpr std::size_t least_mapped_zeros = 16384;

/// Returns `bytes` zero bytes, aligned as by malloc; null for none. A large piece is pages from the
/// system: they are not resident before they are written to, and come as zeros. Memory of `calloc`
/// may have been in use before; then it is written to at once. Throws std::bad_alloc.
[[nodiscard]] std::byte* allocate_zeros(std::size_t bytes);

/// Frees memory from `allocate_zeros`.
void free_zeros(void* place, std::size_t bytes) noexcept;

}  // namespace lido::inline v0::detail
