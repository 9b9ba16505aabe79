/// @file
/// Random numbers that depend on their purpose, not on which thread asks first.
#pragma once

#include <cstdint>

namespace particles {

/// Gives the same numbers for the same seed and purpose, whichever thread asks. The generator is
/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
class dice {
 public:
  dice(std::uint64_t seed, std::uint64_t purpose) noexcept
      : state_(mixed(seed + golden * (purpose + 1))) {}

  /// Returns a number from 0 inclusive to 1 exclusive.
  float uniform() noexcept {
    state_ += golden;
    return static_cast<float>(mixed(state_) >> 40U) * 0x1p-24F;
  }

  /// Returns a number from -1 to 1, mostly near 0.
  float around_zero() noexcept { return (uniform() + uniform() + uniform()) / 1.5F - 1; }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

  static std::uint64_t mixed(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

}  // namespace particles
