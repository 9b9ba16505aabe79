/// @file
/// Addresses as numbers, to check their alignment.
#pragma once

#include <cstdint>

namespace lido::test {

inline std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace lido::test
