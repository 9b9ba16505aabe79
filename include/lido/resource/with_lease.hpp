/// @file
/// Internal. A function that is called with what a lease holds.
#pragma once

#include <utility>

namespace lido::detail {

/// Who knows what is still on its way to a resource that `f` has left with an exception: it is
/// discarded.
template <class Lease, class F>
decltype(auto) with_lease(Lease lease, F&& f) {
  try {
    return std::forward<F>(f)(*lease);
  } catch (...) {
    lease.discard();
    throw;
  }
}

}  // namespace lido::detail
