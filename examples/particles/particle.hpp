/// @file
/// Drops of the fountain: how many are asked for, how each starts and how it moves. Lengths are in
/// heights of the picture, times in frames.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace particles {

/// Returns 0 inclusive to 1 exclusive. It depends on the arguments alone, which are mixed as by
/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
inline float chance(std::uint64_t seed, std::uint64_t number, std::uint64_t purpose) noexcept {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * (number * 128 + purpose + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<float>((z ^ (z >> 31U)) >> 40U) * 0x1p-24F;
}

struct particle {
  float x;  ///< 0 in the middle
  float y;  ///< 0 on the floor
  float vx;
  float vy;
  std::uint32_t number;    ///< no other particle of the run has it
  std::uint16_t age;       ///< frames since birth
  std::uint16_t lifetime;  ///< frames
  std::uint8_t jet;        ///< the nozzle it came from
};

constexpr std::uint16_t shortest_life = 22;
constexpr std::uint16_t longest_life = 68;

/// Returns how many frames particle `number` lives, unless it is evicted.
inline std::uint16_t lifetime_of(std::uint64_t seed, std::uint32_t number) noexcept {
  constexpr float range = longest_life - shortest_life + 1;
  return static_cast<std::uint16_t>(shortest_life + range * chance(seed, number, 0));
}

struct nozzle {
  float x;
  float lean;    ///< radians from upright
  float spread;  ///< radians
  float speed;
};

constexpr std::array<nozzle, 5> nozzles{{{0.0F, 0.0F, 0.26F, 0.0470F},
                                         {-0.30F, 0.28F, 0.17F, 0.0405F},
                                         {0.30F, -0.28F, 0.17F, 0.0405F},
                                         {-0.60F, 0.10F, 0.24F, 0.0325F},
                                         {0.60F, -0.10F, 0.24F, 0.0325F}}};

/// Returns a particle as it leaves its nozzle; two in five come from the middle.
inline particle launched(std::uint64_t seed, std::uint32_t number, float pressure) noexcept {
  const auto roll = [&](std::uint64_t purpose) { return chance(seed, number, purpose); };
  const float pick = roll(1);
  const std::size_t jet = pick < 0.4F ? 0 : 1 + static_cast<std::size_t>((pick - 0.4F) / 0.15F);
  const nozzle& from = nozzles[jet % nozzles.size()];
  const float angle = from.lean + from.spread * (roll(2) + roll(3) + roll(4) - 1.5F) / 1.5F;
  const float speed = from.speed * std::pow(pressure, 0.25F) * (0.74F + 0.26F * roll(5));
  const float vx = speed * std::sin(angle);
  const float vy = speed * std::cos(angle);
  const float ahead = roll(6);  // it starts at some moment of the frame
  return {.x = from.x + 0.006F * (roll(7) - 0.5F) + vx * ahead,
          .y = 0.01F + vy * ahead,
          .vx = vx,
          .vy = vy,
          .number = number,
          .age = 0,
          .lifetime = lifetime_of(seed, number),
          .jet = static_cast<std::uint8_t>(jet % nozzles.size())};
}

/// Lets one frame go by: gravity, drag and bouncing.
inline void move(particle& p) noexcept {
  constexpr float gravity = 0.00185F;
  constexpr float drag = 0.996F;
  ++p.age;
  p.vy = (p.vy - gravity) * drag;
  p.vx *= drag;
  p.x += p.vx;
  p.y += p.vy;
  if (p.y < 0) {
    p.y *= -0.5F;
    p.vy *= -0.25F - 0.35F * chance(p.number, p.age, 0);
    p.vx = p.vx * 0.7F + 0.015F * (chance(p.number, p.age, 1) - 0.5F);
  }
}

/// Returns 1 at birth, 0 at the end.
inline float visibility(const particle& p) noexcept {
  const float spent = static_cast<float>(p.age) / static_cast<float>(p.lifetime);
  return 1 - spent * spent;
}

/// Schedule of the births. The fountain rises, runs with about `usual` alive, surges to half as
/// many again, and ebbs. This repeats every 120 frames.
class demand {
 public:
  demand(std::size_t usual, std::size_t frames, std::uint64_t seed)
      : usual_(usual), seed_(seed), births_(frames) {
    const double each_frame = static_cast<double>(usual) * 2 / (shortest_life + longest_life);
    std::vector<std::size_t> ends(frames + longest_life + 1);
    double wanted = 0;
    std::size_t alive = 0;
    for (std::size_t frame = 0; frame < frames; ++frame) {
      wanted += each_frame * pressure(frame);
      for (; total_ < static_cast<std::size_t>(wanted); ++total_) {
        ++births_[frame];
        ++ends[frame + lifetime_of(seed, static_cast<std::uint32_t>(total_))];
      }
      alive += births_[frame] - ends[frame];
      peak_ = std::max(peak_, alive);
    }
  }

  /// Returns 1 when the fountain runs as usual, more in a surge, less at ebb.
  [[nodiscard]] static float pressure(std::size_t frame) noexcept {
    const std::size_t at = frame % 120;
    return at < 56 ? 1 : at < 86 ? 1.75F : 0.45F;
  }

  [[nodiscard]] std::size_t births(std::size_t frame) const { return births_.at(frame); }
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  [[nodiscard]] std::size_t usual() const noexcept { return usual_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Returns the most alive at once if none is refused or evicted: what a map must hold for that.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

 private:
  std::size_t usual_;
  std::uint64_t seed_;
  std::vector<std::size_t> births_;
  std::size_t total_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace particles
