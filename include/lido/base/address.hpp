/// @file
/// Internal. Addresses as numbers.
#pragma once

#include <cstdint>

namespace lido::inline v0::detail {

/// Returns the address of an object as a number. Some C++20 standard libraries lack std::bit_cast.
[[nodiscard]] inline std::uintptr_t address_bits(const void* object) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  return reinterpret_cast<std::uintptr_t>(object);
}

}  // namespace lido::inline v0::detail
