#include "tone.hpp"

#include <tbb/parallel_for.h>

#include <cmath>

namespace particles {
namespace {

std::uint8_t screen_value(float brightness) noexcept {
  const float kept = 1 - std::exp(-brightness);
  return static_cast<std::uint8_t>(std::sqrt(kept) * 255 + 0.5F);
}

light background(std::size_t row, std::size_t floor, std::size_t height) noexcept {
  if (row >= floor) {
    const float depth = static_cast<float>(row - floor) / static_cast<float>(height - floor);
    return light{0.006F, 0.009F, 0.022F} * (1 - 0.7F * depth);
  }
  const float low = static_cast<float>(row) / static_cast<float>(floor);
  return light{0.0015F + 0.006F * low * low, 0.0015F + 0.005F * low * low,
               0.006F + 0.018F * low * low};
}

}  // namespace

void print(const light_field& field, std::size_t floor, image& into) {
  tbb::parallel_for(std::size_t{0}, field.height, [&](std::size_t row) {
    const light behind = background(row, floor, field.height);
    for (std::size_t column = 0; column < field.width; ++column) {
      light sum = field.at(column, row);
      sum += behind;
      into.at(column, row) = {screen_value(sum.red), screen_value(sum.green),
                              screen_value(sum.blue)};
    }
  });
}

}  // namespace particles
