/// @file
/// Internal. A mutex that says how often it was locked.
#pragma once

#include <cstdint>

#include "lido/concurrency/mutex.hpp"

namespace lido::detail {

/// A mutex that counts.
class counted_mutex {
 public:
  void lock() {
    mutex_.lock();
    ++locks_;
  }
  void unlock() { mutex_.unlock(); }
  /// Under the mutex.
  [[nodiscard]] std::uint64_t locks() const noexcept { return locks_; }

 private:
  plain_mutex mutex_;
  std::uint64_t locks_ = 0;
};

}  // namespace lido::detail
