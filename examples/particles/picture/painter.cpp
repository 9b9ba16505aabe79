#include "painter.hpp"

#include "bloom.hpp"
#include "palette.hpp"
#include "tone.hpp"
#include "water.hpp"

namespace particles {
namespace {

constexpr int dots_of_a_streak = 3;

}  // namespace

painter::painter(std::size_t width, std::size_t height, std::size_t particles)
    : sensor_(width, height),
      field_(width, height),
      picture_(width, height),
      floor_(height * 84 / 100),
      scale_(static_cast<float>(height)),
      exposure_(0.24F * static_cast<float>(width * height) / static_cast<float>(particles)) {}

/// Draws a streak of dots: the particle's way while the shutter was open.
void painter::expose(const particle& p) {
  sensor::sheet& sheet = sensor_.mine();
  const light each = glow(p) * (1.0F / dots_of_a_streak);
  const float middle = static_cast<float>(field_.width) / 2;
  for (int dot = 0; dot < dots_of_a_streak; ++dot) {
    const float back = static_cast<float>(dot) / dots_of_a_streak;
    const float x = middle + (p.x - p.vx * back) * scale_;
    const float y = static_cast<float>(floor_) - (p.y - p.vy * back) * scale_;
    sensor_.add_to(sheet, x, y, each);
  }
}

const image& painter::develop(std::size_t frame, const fill& pool) {
  sensor_.develop(field_, exposure_);
  reflect(field_, floor_, frame);
  bloom(field_, 0.30F);
  print(field_, floor_, picture_);
  draw_gauge(picture_, pool);
  return picture_;
}

}  // namespace particles
