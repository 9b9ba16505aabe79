/// @file
/// Internal. What a resource pool keeps for each of its threads.
#pragma once

#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/resource/resource_slot.hpp"

namespace lido::detail {

/// One thread's corner of a pool: the resource it had last, which it will find warm, and whether it
/// is about to leave a release.
struct alignas(no_false_sharing) thread_corner {
  atomic<resource_slot*> last{nullptr};
  atomic<std::uint32_t> leaving{0};
};

}  // namespace lido::detail
