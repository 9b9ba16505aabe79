#include "demand.hpp"

#include <numeric>

#include "nursery.hpp"
#include "particle.hpp"

namespace particles {
namespace {

constexpr std::size_t cycle = 120;

}  // namespace

float demand::pressure(std::size_t frame) noexcept {
  const std::size_t at = frame % cycle;
  if (at < 56) {
    return 1;
  }
  return at < 86 ? 1.75F : 0.45F;
}

demand::demand(std::size_t particles, std::size_t frames, std::uint64_t seed) : births_(frames) {
  constexpr double mean_life = (shortest_life + longest_life) / 2.0;
  const double usual = static_cast<double>(particles) / mean_life;
  double wanted = 0;
  double asked = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    wanted += usual * pressure(frame);
    births_[frame] = static_cast<std::size_t>(wanted - asked);
    asked += static_cast<double>(births_[frame]);
  }
  total_ = std::accumulate(births_.begin(), births_.end(), std::size_t{0});
  find_peak(seed);
}

/// Finds the peak by simulation: the lifetimes are known beforehand.
void demand::find_peak(std::uint64_t seed) {
  std::vector<std::size_t> ends(births_.size() + longest_life + 1);
  std::uint32_t number = 0;
  std::size_t alive = 0;
  for (std::size_t frame = 0; frame < births_.size(); ++frame) {
    for (std::size_t i = 0; i < births_[frame]; ++i) {
      ++ends[frame + lifetime_of(seed, number)];
      ++number;
    }
    alive = alive - ends[frame] + births_[frame];
    if (alive > peak_) {
      peak_ = alive;
      fullest_frame_ = frame;
    }
  }
}

}  // namespace particles
