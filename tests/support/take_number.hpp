/// @file
/// Acquires a thread number reliably, if one is free.
#pragma once

#include <thread>

#include "lido/concurrency/thread_number.hpp"

namespace lido::test {

/// Tries again while other threads use the registry. Returns false if the table is full or the
/// thread is ending.
inline bool take_thread_number() {
  constexpr int tries = 10'000;
  for (int i = 0; i < tries; ++i) {
    if (detail::assign_thread_number()) {
      return true;
    }
    std::this_thread::yield();
  }
  return false;
}

}  // namespace lido::test
