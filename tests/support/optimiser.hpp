/// @file
/// Functions that keep an optimiser from removing what a test needs.
#pragma once

#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace lido::test {

/// Returns `object`, whose bytes other code may have read and written as far as the compiler knows.
template <class T>
[[nodiscard]] T* launder_for_test(T* object) {
#ifdef _MSC_VER
  T* volatile hidden = object;
  _ReadWriteBarrier();
  return hidden;
#else
  asm volatile("" : "+r"(object) : : "memory");
  return object;
#endif
}

/// Makes the optimiser keep the bytes of `object`.
inline void keep_bytes(const void* object) {
  (void)launder_for_test(object);
}

}  // namespace lido::test
