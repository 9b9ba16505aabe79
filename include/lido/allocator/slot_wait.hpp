/// @file
/// Internal. Waits for a slot that block no thread.
#pragma once

#include <stop_token>

#include "lido/base/callback.hpp"
#include "lido/concurrency/coroutine_wait.hpp"
#include "lido/concurrency/parking.hpp"

namespace lido::inline v0::detail {

class slot_allocator;

/// What ends a wait for a slot.
struct slot_wait {
  deadline until;
  std::stop_token stop;
};

/// The result of a wait for a slot.
struct slot_outcome {
  void* slot = nullptr;             ///< null if the wait ended without a slot
  slot_allocator* owner = nullptr;  ///< null if there is no slot
};

extern template class coroutine_wait<slot_outcome>;

}  // namespace lido::inline v0::detail
