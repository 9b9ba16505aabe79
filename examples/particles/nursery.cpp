#include "nursery.hpp"

#include <array>
#include <cmath>

#include "dice.hpp"
#include "ledger.hpp"

namespace particles {
namespace {

struct nozzle {
  float x;
  float lean;    ///< radians from upright
  float spread;  ///< radians
  float speed;
};

constexpr std::array<nozzle, 5> nozzles{{{0.0F, 0.0F, 0.26F, 0.0500F},
                                         {-0.30F, 0.28F, 0.17F, 0.0425F},
                                         {0.30F, -0.28F, 0.17F, 0.0425F},
                                         {-0.60F, 0.10F, 0.24F, 0.0330F},
                                         {0.60F, -0.10F, 0.24F, 0.0330F}}};

/// Returns a nozzle: the middle one for two in five.
std::uint8_t pick_nozzle(float roll) noexcept {
  return roll < 0.4F ? 0 : static_cast<std::uint8_t>(1 + static_cast<int>((roll - 0.4F) / 0.15F));
}

}  // namespace

std::uint16_t lifetime_of(std::uint64_t seed, std::uint32_t number) noexcept {
  constexpr float range = longest_life - shortest_life + 1;
  dice fate(~seed, number);
  return static_cast<std::uint16_t>(shortest_life + static_cast<int>(range * fate.uniform()));
}

particle nursery::next() noexcept {
  // relaxed: only the number itself matters, and each is given once in any order
  const std::uint32_t number = next_number_.fetch_add(1, std::memory_order_relaxed);
  book_->born(number);
  dice roll(seed_, number);
  const std::uint8_t jet = pick_nozzle(roll.uniform());
  const nozzle& from = nozzles.at(jet % nozzles.size());
  const float angle = from.lean + from.spread * roll.around_zero();
  const float speed =
      from.speed * std::sqrt(std::sqrt(pressure_)) * (0.78F + 0.22F * roll.uniform());
  const float ahead = roll.uniform();  // born at some moment of the frame
  particle p;
  p.vx = speed * std::sin(angle);
  p.vy = speed * std::cos(angle);
  p.x = from.x + 0.004F * roll.around_zero() + p.vx * ahead;
  p.y = 0.01F + p.vy * ahead;
  p.number = number;
  p.age = 0;
  p.lifetime = lifetime_of(seed_, number);
  p.jet = jet;
  p.bounces = 0;
  return p;
}

}  // namespace particles
