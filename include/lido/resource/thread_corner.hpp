/// @file
/// Internal. What a resource pool keeps for each of its threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/resource/resource_slot.hpp"

namespace lido::detail {

/// One thread's corner of a pool: the resource it had last, which it will find warm, and whether it
/// is about to leave a release.
struct alignas(no_false_sharing) thread_corner {
  atomic<resource_slot*> last{nullptr};
  atomic<std::uint32_t> leaving{0};
};

/// Those of all threads, the first for all that have no number. Where there are fewer, some share
/// one: `last` is only a hint.
class thread_corners {
 public:
  /// Of at least two. Throws std::bad_alloc.
  explicit thread_corners(std::uint32_t count)
      : count_(count), corners_(std::make_unique<thread_corner[]>(count)) {}

  [[nodiscard]] thread_corner& mine() const noexcept {
    const std::size_t number = thread_offset / thread_stride;
    return corners_[number < count_ ? number : 1 + (number - 1) % (count_ - 1)];
  }
  [[nodiscard]] std::span<thread_corner> all() const noexcept { return {corners_.get(), count_}; }

 private:
  const std::uint32_t count_;
  const std::unique_ptr<thread_corner[]> corners_;
};

}  // namespace lido::detail
