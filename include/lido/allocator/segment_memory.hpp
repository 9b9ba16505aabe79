/// @file
/// Internal. The memory behind the slots of a growing pool, and the objects in it.
#pragma once

#include <cstdint>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// A count that moves while a thread makes progress with a long task, for the threads that wait.
class work_progress {
 public:
  void note() noexcept {
    // relaxed: only that it moves is of interest
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t count() const noexcept {
    // relaxed: as above
    return count_.load(std::memory_order_relaxed);
  }

 private:
  atomic<std::uint32_t> count_{0};
};

/// Provides the memory of whole segments. One thread at a time calls `commit`. Beside it and one
/// another, threads call the other two, for different segments. `commit` and `decommit` return 0,
/// or an error number of the system and then have changed nothing.
class segment_memory {
 public:
  segment_memory() = default;
  segment_memory(const segment_memory&) = delete;
  segment_memory& operator=(const segment_memory&) = delete;

  [[nodiscard]] virtual int commit(slot_index first, std::uint32_t count) noexcept = 0;
  /// Destroys what free slots still contain, before `decommit`; notes progress after each.
  virtual void vacate(slot_index first, std::uint32_t count, work_progress& progress) noexcept = 0;
  [[nodiscard]] virtual int decommit(slot_index first, std::uint32_t count) noexcept = 0;

 protected:
  ~segment_memory() = default;
};

/// Makes objects in the slots of a new segment before any thread can acquire them.
class segment_fill {
 public:
  segment_fill() = default;
  segment_fill(const segment_fill&) = delete;
  segment_fill& operator=(const segment_fill&) = delete;

  /// Makes the objects, and notes progress now and then. May throw.
  virtual void fill(slot_index first, std::uint32_t count, work_progress& progress) = 0;

 protected:
  ~segment_fill() = default;
};

}  // namespace lido::inline v0::detail
