#include "sensor.hpp"

#include <tbb/parallel_for.h>

#include <cmath>

namespace particles {
namespace {

constexpr float grains_per_unit = 4096;

void add_part(sensor::grains& pixel, const light& colour, float share) noexcept {
  const float scale = share * grains_per_unit;
  pixel.red += static_cast<std::uint32_t>(colour.red * scale);
  pixel.green += static_cast<std::uint32_t>(colour.green * scale);
  pixel.blue += static_cast<std::uint32_t>(colour.blue * scale);
}

}  // namespace

sensor::sensor(std::size_t width, std::size_t height)
    : width_(width), height_(height), sheets_([width, height] { return sheet(width * height); }) {}

void sensor::add_to(sheet& on, float x, float y, const light& colour) const {
  const float left = std::floor(x - 0.5F);
  const float top = std::floor(y - 0.5F);
  if (!(left >= 0 && top >= 0 && left + 1 < static_cast<float>(width_) &&
        top + 1 < static_cast<float>(height_))) {
    return;
  }
  const float right_share = x - 0.5F - left;
  const float lower_share = y - 0.5F - top;
  grains* const upper =
      on.data() + static_cast<std::size_t>(top) * width_ + static_cast<std::size_t>(left);
  grains* const lower = upper + width_;
  add_part(upper[0], colour, (1 - right_share) * (1 - lower_share));
  add_part(upper[1], colour, right_share * (1 - lower_share));
  add_part(lower[0], colour, (1 - right_share) * lower_share);
  add_part(lower[1], colour, right_share * lower_share);
}

void sensor::develop(light_field& into, float exposure) {
  const float scale = exposure / grains_per_unit;
  tbb::parallel_for(std::size_t{0}, height_, [&](std::size_t row) {
    for (std::size_t at = row * width_; at < (row + 1) * width_; ++at) {
      grains sum;
      for (sheet& one : sheets_) {
        sum.red += one[at].red;
        sum.green += one[at].green;
        sum.blue += one[at].blue;
        one[at] = {};
      }
      into.pixels[at] = light{static_cast<float>(sum.red), static_cast<float>(sum.green),
                              static_cast<float>(sum.blue)} *
                        scale;
    }
  });
}

}  // namespace particles
