/// @file
/// Functions of an object with a copy of Lido, for pools that it or another object made.
#pragma once

#include <cstddef>
#include <cstdint>

/// A function of a pool, which code with another copy of Lido must not call.
struct foreign_call {
  const char* name;
  void (*run)(void* pool);
};

/// Functions of one kind of pool. A taken item is one word: an address or a handle.
struct foreign_kind {
  const char* name;
  void* (*make)();
  void (*destroy)(void* pool);
  std::uintptr_t (*take)(void* pool);
  void (*give)(void* pool, std::uintptr_t taken);
  // Permissions of code with another copy of Lido than the pool's maker.
  bool may_take;  ///< take, and destroy the pool
  bool may_give;
  const foreign_call* calls = nullptr;
  std::size_t count_calls = 0;
};

struct foreign_kinds {
  const foreign_kind* first;
  std::size_t count;
};

/// The function that a module exports: `extern "C" foreign_kinds lido_test_foreign()`.
using foreign_entry = foreign_kinds (*)();
foreign_kinds foreign_kinds_here();
