/// @file
/// Internal. The memory behind the slots of a growing pool, and the objects in it.
#pragma once

#include <cstdint>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// A counter that a thread increments while it makes progress with a long task. The threads that
/// wait for the task read it.
class work_progress {
 public:
  void note() noexcept {
    // relaxed: readers only check whether the count has changed
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t count() const noexcept {
    // relaxed: as above
    return count_.load(std::memory_order_relaxed);
  }

 private:
  atomic<std::uint32_t> count_{0};
};

/// Provides the memory of whole segments. Only one thread at a time calls `commit`. Meanwhile, any
/// number of threads may call `vacate` and `decommit`. Concurrent calls concern different segments.
/// `commit` and `decommit` return 0, or the system's error number if they fail; a failed call has
/// changed nothing.
class segment_memory {
 public:
  segment_memory() = default;
  segment_memory(const segment_memory&) = delete;
  segment_memory& operator=(const segment_memory&) = delete;

  [[nodiscard]] virtual int commit(slot_index first, std::uint32_t count) noexcept = 0;
  /// Destroys the objects that free slots still contain, and notes progress after each. Called
  /// before `decommit`.
  virtual void vacate(slot_index first, std::uint32_t count, work_progress& progress) noexcept = 0;
  [[nodiscard]] virtual int decommit(slot_index first, std::uint32_t count) noexcept = 0;

 protected:
  ~segment_memory() = default;
};

/// Creates objects in the slots of a new segment before any thread can acquire the slots.
class segment_fill {
 public:
  segment_fill() = default;
  segment_fill(const segment_fill&) = delete;
  segment_fill& operator=(const segment_fill&) = delete;

  /// Creates the objects, and notes progress from time to time. May throw.
  virtual void fill(slot_index first, std::uint32_t count, work_progress& progress) = 0;

 protected:
  ~segment_fill() = default;
};

}  // namespace lido::inline v0::detail
