/// @file
/// The number of particles that the fountain requests, frame by frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace particles {

/// The fountain rises, runs with about `particles` alive, surges to half as many again, and ebbs;
/// it starts again every 120 frames.
class demand {
 public:
  demand(std::size_t particles, std::size_t frames, std::uint64_t seed);

  [[nodiscard]] std::size_t births(std::size_t frame) const { return births_.at(frame); }

  /// Returns 1 in normal flow, more in a surge, less at ebb.
  [[nodiscard]] static float pressure(std::size_t frame) noexcept;

  /// Returns the number of births in all frames.
  [[nodiscard]] std::size_t total() const noexcept { return total_; }

  /// Returns the most alive at once if none is refused or evicted: the size of a pool that is large
  /// enough.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

  /// Returns the frame with that peak.
  [[nodiscard]] std::size_t fullest_frame() const noexcept { return fullest_frame_; }

 private:
  void find_peak(std::uint64_t seed);

  std::vector<std::size_t> births_;
  std::size_t total_ = 0;
  std::size_t peak_ = 0;
  std::size_t fullest_frame_ = 0;
};

}  // namespace particles
