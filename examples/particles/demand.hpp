/// @file
/// How many particles the fountain asks for, frame by frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace particles {

/// The fountain rises, runs with about `particles` alive, surges to half as many again, and ebbs;
/// then anew, every 120 frames.
class demand {
 public:
  demand(std::size_t particles, std::size_t frames, std::uint64_t seed);

  [[nodiscard]] std::size_t births(std::size_t frame) const { return births_.at(frame); }

  /// 1 when it runs as usual, more in a surge, less at ebb.
  [[nodiscard]] static float pressure(std::size_t frame) noexcept;

  /// Of all frames.
  [[nodiscard]] std::size_t total() const noexcept { return total_; }

  /// Most alive at once if none is refused or evicted: what a pool must hold to be large enough.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

  /// When that is.
  [[nodiscard]] std::size_t fullest_frame() const noexcept { return fullest_frame_; }

 private:
  void find_peak(std::uint64_t seed);

  std::vector<std::size_t> births_;
  std::size_t total_ = 0;
  std::size_t peak_ = 0;
  std::size_t fullest_frame_ = 0;
};

}  // namespace particles
