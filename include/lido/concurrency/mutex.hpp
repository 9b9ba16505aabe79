/// @file
/// Internal. The mutexes of operations that may block. A model-checking build names its own header
/// in LIDO_MUTEX_SEAM.
#pragma once

#include <cstdint>

#ifdef LIDO_MUTEX_SEAM
#include LIDO_MUTEX_SEAM
#else

#include <mutex>

namespace lido::inline v0::detail {

using plain_mutex = std::mutex;

}  // namespace lido::inline v0::detail

#endif

namespace lido::inline v0::detail {

/// A mutex that counts how often it has been locked.
class counted_mutex {
 public:
  void lock() {
    mutex_.lock();
    ++locks_;
  }
  void unlock() { mutex_.unlock(); }
  /// Returns the count. Requires: the caller has locked the mutex.
  [[nodiscard]] std::uint64_t locks() const noexcept { return locks_; }

 private:
  plain_mutex mutex_;
  std::uint64_t locks_ = 0;
};

}  // namespace lido::inline v0::detail
