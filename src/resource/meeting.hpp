// Two threads, of which the second goes on with what both were for.
#pragma once

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// One of two threads comes first, whichever it is, and leaves; what it did before, the second one
/// sees. Progress: wait-free.
class meeting {
 public:
  /// Once by each of the two.
  [[nodiscard]] bool comes_second() noexcept {
    // (1) - this acq_rel-exchange synchronizes-with the acq_rel-exchange (1) of the first
    return one_came_.exchange(true, std::memory_order_acq_rel);
  }

 private:
  atomic<bool> one_came_{false};
};

}  // namespace lido::inline v0::detail
