/// @file
/// Internal. How many slots a cache may hold: it finds its own size, and yields when slots are
/// scarce.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lido/base/tuning.hpp"

namespace lido::detail {

/// One cache's limit. Pure arithmetic, used by the owner only.
///
/// Slow start and additive-increase-free doubling as in tcmalloc: every trip to the shared lists
/// says that the cache is too small. Being robbed says that it is too large: half; and none at all
/// if the pool was exhausted since, for then whoever is refused must empty it again. Below
/// `smallest` a cache is not worth its theft, so it closes; it opens again after some operations
/// during which no thread found the pool exhausted: `patience` of them, twice as many with each
/// exhaustion, fewer again with each trip of an open cache.
class cache_sizing {
 public:
  static constexpr std::uint32_t smallest = tuning::smallest_cache;
  static constexpr std::uint32_t patience = tuning::patience;
  static constexpr std::uint32_t most_patience = tuning::most_patience;

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  [[nodiscard]] bool closed() const noexcept { return limit_ == 0; }

  /// A refill or a flush happened. `ceiling`: the fair share of this cache now.
  void grow(std::uint32_t ceiling) noexcept {
    limit_ = ceiling < smallest ? 0 : std::clamp(limit_ * 2, smallest, ceiling);
    patience_ = std::max(patience_ - patience_ / 16, patience);
  }

  /// A thief came. `scarcity`: as in wants_to_open. Closes when little is left, or ought to be.
  void shrink(std::uint32_t scarcity) noexcept {
    limit_ /= 2;
    if (note(scarcity) || limit_ < smallest) {
      close();
    }
  }

  void close() noexcept {
    limit_ = 0;
    calm_ = 0;
  }

  /// One operation on a closed cache. `scarcity` counts how often the pool was found exhausted.
  /// Returns whether the cache should open.
  [[nodiscard]] bool wants_to_open(std::uint32_t scarcity, std::uint32_t ceiling) noexcept {
    if (note(scarcity)) {
      calm_ = 0;
    }
    if (calm_ < patience_) {
      ++calm_;
      return false;
    }
    return ceiling >= smallest;
  }

  /// For the first thread of a number and for each that inherits it.
  void reset(std::uint32_t scarcity) noexcept {
    limit_ = 0;
    patience_ = patience;
    calm_ = patience;
    scarcity_ = scarcity;
  }

 private:
  /// Returns whether the pool was found exhausted since this was asked last.
  bool note(std::uint32_t scarcity) noexcept {
    const bool exhausted = scarcity != scarcity_;
    if (exhausted) {
      scarcity_ = scarcity;
      patience_ = std::min(patience_ * 2, most_patience);
    }
    return exhausted;
  }

  std::uint32_t limit_ = 0;
  std::uint32_t patience_ = patience;
  std::uint32_t calm_ = patience;
  std::uint32_t scarcity_ = 0;
};

}  // namespace lido::detail
