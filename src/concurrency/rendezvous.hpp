/// @file
/// Internal. A rendezvous of two threads, after which the second one continues.
#pragma once

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// Lets the second of two threads continue. The second thread sees everything that the first thread
/// did before the first arrived. Progress: wait-free.
class rendezvous {
 public:
  /// Returns false in the first call and true in each later one. The first calls of the two threads
  /// decide which thread comes second. That thread may call again, and again gets true.
  [[nodiscard]] bool comes_second() noexcept {
    // (1) - this acq_rel-exchange synchronizes-with the acq_rel-exchange (1) of the first thread
    return one_came_.exchange(true, std::memory_order_acq_rel);
  }

 private:
  atomic<bool> one_came_{false};
};

}  // namespace lido::inline v0::detail
