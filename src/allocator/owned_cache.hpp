/// @file
/// Internal. A cache together with its owner's notes about it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lido/allocator/slot_cache.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace lido::inline v0::detail {

/// Determines how many slots a cache may contain: as many as its thread needs, but few when slots
/// are scarce. Pure arithmetic, used only by the owner of the cache. Zeroed memory represents the
/// limit of a closed cache that may open at once.
///
/// The limit starts low and doubles, without additive increase, as in tcmalloc: every trip to the
/// shared lists shows that the cache is too small. A theft shows that the cache is too large, so
/// its limit is halved. If the pool has been exhausted since the last check, the cache closes,
/// since otherwise each refused thread would have to empty it again. A cache whose limit is below
/// `smallest` is not worth a theft, so it closes, too.
///
/// A closed cache opens again after `patience` operations during which no thread found the pool
/// exhausted. Each exhaustion doubles this number of operations, and each trip of an open cache
/// reduces it again.
class cache_limit {
 public:
  static constexpr std::uint32_t smallest = tuning::smallest_cache;
  static constexpr std::uint32_t patience = tuning::patience;
  static constexpr std::uint32_t most_patience = tuning::most_patience;

  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  [[nodiscard]] bool closed() const noexcept { return slots_ == 0; }

  /// Raises the limit after a refill or a flush. `ceiling` is the current fair share of this cache.
  void grow(std::uint32_t ceiling) noexcept {
    slots_ = ceiling < smallest ? 0 : std::clamp(slots_ * 2, smallest, ceiling);
    const std::uint32_t now = patience + more_patience_;
    more_patience_ = (std::max)(now - now / 16, patience) - patience;
  }

  /// Halves the limit after a theft. `scarcity` means the same as in wants_to_open. Closes the
  /// cache if the limit falls below `smallest`, or if the pool was exhausted.
  void shrink(std::uint32_t scarcity) noexcept {
    slots_ /= 2;
    if (note(scarcity) || slots_ < smallest) {
      close();
    }
  }

  void close() noexcept {
    slots_ = 0;
    calm_needed_ = patience + more_patience_;
  }

  /// Counts one operation on a closed cache. `scarcity` is the number of times that the pool was
  /// found exhausted. Returns true if the cache should open.
  [[nodiscard]] bool wants_to_open(std::uint32_t scarcity, std::uint32_t ceiling) noexcept {
    if (note(scarcity)) {
      calm_needed_ = patience + more_patience_;
    }
    if (calm_needed_ > 0) {
      --calm_needed_;
      return false;
    }
    return ceiling >= smallest;
  }

  /// Resets the limit for a thread that gets the number of a thread that has ended.
  void reset(std::uint32_t scarcity) noexcept {
    *this = cache_limit();
    scarcity_ = scarcity;
  }

 private:
  /// Returns true if the pool was found exhausted since the last call.
  bool note(std::uint32_t scarcity) noexcept {
    const bool exhausted = scarcity != scarcity_;
    if (exhausted) {
      scarcity_ = scarcity;
      more_patience_ = (std::min)((patience + more_patience_) * 2, most_patience) - patience;
    }
    return exhausted;
  }

  std::uint32_t slots_ = 0;
  std::uint32_t more_patience_ = 0;  ///< operations in addition to `patience`
  std::uint32_t calm_needed_ = 0;    ///< operations before the cache opens
  std::uint32_t scarcity_ = 0;
};

/// An entry of a table of caches. Zeroed memory represents an entry that no thread has used.
struct owned_cache : slot_cache {
  bool active = false;  ///< counted as one of the pool's open caches
  bool last_was_flush = false;
  unscheduled_atomic<bool> restarted;  ///< a restart has emptied the cache; see forget_restart
  std::int32_t more_unreported = 0;    ///< slots added to the pool's `most_unreported_`
  cache_limit limit;
  atomic<std::uint64_t> misses;  ///< acquires that were not hits
  atomic<std::uint64_t> refills;
  atomic<std::uint64_t> flushes;
  atomic<std::int64_t> drawn;  ///< slots taken from the depot minus slots given to it
  std::int64_t reported;       ///< `drawn` when it was last added to the pool's sum
  std::int64_t most_drawn;     ///< `drawn` when a burst of this thread was last marked
  thread_use use;

  /// Returns true if the owner finds its cache empty because of a restart, and not of a theft.
  /// Called only by the owner.
  // relaxed (whole function): a restart precedes the owner's next operation
  [[nodiscard]] bool forget_restart() noexcept {
    const bool was_restarted = restarted.load(std::memory_order_relaxed);
    restarted.store(false, std::memory_order_relaxed);
    return was_restarted;
  }
};

static_assert(sizeof(owned_cache) == 3 * cache_line);

}  // namespace lido::inline v0::detail
