/// @file
/// What a shared object that uses Lido for itself shows to the program that loads it.
#pragma once

#include <cstddef>

/// Plain functions only: nothing of Lido crosses the border but an opaque pool.
struct plugin {
  void* (*make_pool)(std::size_t capacity);
  void (*destroy_pool)(void* pool);

  /// Acquires and releases once; returns the number that this shared object has for the thread.
  std::size_t (*use_once)(void* pool);

  /// Acquires and releases in small bursts; whether no other thread was seen to own an object.
  bool (*work)(void* pool, unsigned me, unsigned bursts);

  /// How many objects the calling thread can acquire at once.
  std::size_t (*count_acquirable)(void* pool);

  /// Caches that threads have open in the pool.
  std::size_t (*open_caches)(void* pool);
};
