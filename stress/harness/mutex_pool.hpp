/// @file
/// The control of drivers that ask whether a thread holds up others: a pool that is only a mutex.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "harness/ledger.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/object_pool.hpp"

namespace stress {

/// A list behind a mutex. A thread that is stopped in the middle of an operation holds up all
/// others.
class mutex_pool {
 public:
  explicit mutex_pool(const lido::object_pool_options& options) : slots_(options.capacity) {
    for (owned& slot : slots_) {
      free_.push_back(&slot);
    }
  }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

  owned* try_acquire_ptr(lido::default_init_t = lido::default_init) {
    const std::lock_guard lock(mutex_);
    stop_here();
    if (free_.empty()) {
      return nullptr;
    }
    owned* const object = free_.back();
    free_.pop_back();
    return object;
  }
  std::size_t try_acquire_n(std::span<owned*> out) {
    std::size_t count = 0;
    while (count < out.size() && (out[count] = try_acquire_ptr()) != nullptr) {
      ++count;
    }
    return count;
  }
  void release(owned* object) {
    if (object == nullptr) {
      return;
    }
    const std::lock_guard lock(mutex_);
    stop_here();
    free_.push_back(object);
  }
  void release_n(const std::vector<owned*>& all) {
    for (owned* const object : all) {
      release(object);
    }
  }

 private:
  /// Lets a thread be stopped here in the mutated copy of the library, which stops before each
  /// access.
  // relaxed: nothing reads it
  void stop_here() { calls_.fetch_add(1, std::memory_order_relaxed); }

  std::mutex mutex_;
  lido::detail::atomic<unsigned> calls_{0};
  std::vector<owned> slots_;
  std::vector<owned*> free_;
};

}  // namespace stress
