/// @file
/// The source of particles: gives each its number and its start.
#pragma once

#include <atomic>
#include <cstdint>

#include "particle.hpp"

namespace particles {

class ledger;

/// Returns how many frames particle `number` lives, unless it is evicted.
std::uint16_t lifetime_of(std::uint64_t seed, std::uint32_t number) noexcept;

/// Makes particles. Thread-safe except for `open`. A particle depends only on the seed, its number
/// and the pressure. So the same numbers make the same picture, whichever thread takes which.
class nursery {
 public:
  nursery(std::uint64_t seed, ledger& book) : seed_(seed), book_(&book) {}

  /// Sets the pressure of the jets from now on; 1 is usual.
  void open(float pressure) noexcept { pressure_ = pressure; }

  /// Makes the next particle and records its birth in the ledger.
  particle next() noexcept;

 private:
  std::uint64_t seed_;
  ledger* book_;
  float pressure_ = 1;
  std::atomic<std::uint32_t> next_number_ = 0;
};

}  // namespace particles
