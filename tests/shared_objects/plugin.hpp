/// @file
/// The functions that a shared object with a private use of Lido shows to the loading program.
#pragma once

#include <cstddef>

/// Plain functions only: the sole thing of Lido that crosses the border is an opaque pool.
struct plugin {
  void* (*make_pool)(std::size_t capacity);
  void (*destroy_pool)(void* pool);

  /// Acquires and releases once; returns the thread's number in this shared object.
  std::size_t (*use_once)(void* pool);

  /// Acquires and releases in small bursts; returns true if no other thread was seen to own an
  /// object.
  bool (*work)(void* pool, unsigned me, unsigned bursts);

  /// Returns how many objects the calling thread can acquire at once.
  std::size_t (*count_acquirable)(void* pool);

  /// Returns how many caches threads have open in the pool.
  std::size_t (*open_caches)(void* pool);
};
