/// @file
/// Addresses as numbers, to check their alignment.
#pragma once

#include <cstdint>

namespace lido::test {

inline std::uintptr_t address(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place);
}

}  // namespace lido::test
