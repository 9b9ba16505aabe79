#include "water.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace particles {

void reflect(light_field& field, std::size_t floor, std::size_t frame) {
  const std::size_t rows = field.height - floor;
  tbb::parallel_for(std::size_t{0}, rows, [&](std::size_t row) {
    const float depth = static_cast<float>(row) / static_cast<float>(rows);
    const auto up = static_cast<std::size_t>(static_cast<float>(row) * (1.5F + depth)) + 1;
    const std::size_t source = floor - std::min(up, floor);
    const float wave = std::sin(static_cast<float>(row) * 0.9F - static_cast<float>(frame) * 0.35F);
    const auto shift = static_cast<std::ptrdiff_t>(std::lround(wave * (0.5F + 3 * depth)));
    const auto last = static_cast<std::ptrdiff_t>(field.width) - 1;
    for (std::ptrdiff_t column = 0; column <= last; ++column) {
      const auto from = std::clamp<std::ptrdiff_t>(column + shift, 0, last);
      field.at(static_cast<std::size_t>(column), floor + row) =
          field.at(static_cast<std::size_t>(from), source) * (0.42F * (1 - 0.8F * depth));
    }
  });
}

}  // namespace particles
