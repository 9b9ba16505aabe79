#include "particle.hpp"

#include "dice.hpp"
#include "nursery.hpp"

namespace particles {
namespace {

constexpr float gravity = 0.00185F;
constexpr float drag = 0.996F;

void bounce(particle& p) noexcept {
  ++p.bounces;
  dice scatter(p.number, p.bounces);
  p.y = -p.y * 0.5F;
  p.vy *= -(0.25F + 0.35F * scatter.uniform());
  p.vx = p.vx * 0.7F + 0.010F * scatter.around_zero();
}

}  // namespace

particle::particle(nursery& from) : particle(from.next()) {}

bool step(particle& p) noexcept {
  ++p.age;
  if (p.age >= p.lifetime) {
    return false;
  }
  p.vy = (p.vy - gravity) * drag;
  p.vx *= drag;
  p.x += p.vx;
  p.y += p.vy;
  if (p.y < 0) {
    bounce(p);
  }
  return true;
}

float visibility(const particle& p) noexcept {
  const float spent = static_cast<float>(p.age) / static_cast<float>(p.lifetime);
  return 1 - spent * spent;
}

}  // namespace particles
