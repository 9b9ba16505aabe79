/// @file
/// Modelled primitives on which threads wait: a mutex, and a parking place.
#pragma once

#include <cstdint>

#include "checker/execution.hpp"

namespace model {

/// Stands in for std::mutex. May outlive an execution: each execution finds it unlocked.
class mutex {
 public:
  void lock();
  bool try_lock();
  void unlock();

 private:
  void enter();
  void refresh();

  std::uint64_t execution_ = 0;
  std::int32_t passes_on_ = -1;
  bool held_ = false;
};

/// Lets one thread sleep until another thread wakes it. A wake-up that comes before the sleep is
/// remembered, as with a futex whose word has changed. A time-out may come at any time.
class parking_place {
 public:
  /// Returns once there has been an `unpark` since the last `park`.
  void park();
  /// Returns false if the time-out came first.
  [[nodiscard]] bool park_for();
  void unpark();

 private:
  bool sleep(bool timed);

  bool token_ = false;
};

}  // namespace model
