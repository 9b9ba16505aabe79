// A coroutine that waits for a resource.
#include "../concurrency/coroutine_wait.hpp"

#include "lido/resource/co_acquire.hpp"

namespace lido::inline v0::detail {

/// Releases the resource of an outcome that no coroutine can receive.
static void give_back(acquire_outcome& found) noexcept {
  if (found.grant.slot != nullptr) {
    found.grant.slot->record.cache->release(found.grant);
  }
}

template class coroutine_wait<acquire_outcome>;

}  // namespace lido::inline v0::detail
