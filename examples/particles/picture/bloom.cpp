#include "bloom.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>

namespace particles {
namespace {

constexpr std::size_t shrunk_by = 4;
constexpr std::ptrdiff_t radius = 3;

/// Dims light that is already too bright, so that it does not outshine its surroundings.
light softened(const light& bright) noexcept {
  return {bright.red / (1 + bright.red), bright.green / (1 + bright.green),
          bright.blue / (1 + bright.blue)};
}

light_field shrunk(const light_field& field) {
  light_field small(field.width / shrunk_by, field.height / shrunk_by);
  tbb::parallel_for(std::size_t{0}, small.height, [&](std::size_t row) {
    for (std::size_t column = 0; column < small.width; ++column) {
      light sum;
      for (std::size_t i = 0; i < shrunk_by * shrunk_by; ++i) {
        sum +=
            softened(field.at(column * shrunk_by + i % shrunk_by, row * shrunk_by + i / shrunk_by));
      }
      small.at(column, row) = sum * (1.0F / (shrunk_by * shrunk_by));
    }
  });
  return small;
}

/// Returns the mean of the pixels around each one, in rows; turned on its side, so that a second
/// call blurs the other way.
light_field blurred_and_turned(const light_field& field) {
  light_field turned(field.height, field.width);
  tbb::parallel_for(std::size_t{0}, field.height, [&](std::size_t row) {
    const auto last = static_cast<std::ptrdiff_t>(field.width) - 1;
    for (std::ptrdiff_t column = 0; column <= last; ++column) {
      light sum;
      for (std::ptrdiff_t near = column - radius; near <= column + radius; ++near) {
        sum += field.at(static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(near, 0, last)), row);
      }
      turned.at(row, static_cast<std::size_t>(column)) = sum * (1.0F / (2 * radius + 1));
    }
  });
  return turned;
}

/// Interpolates between the four pixels of the small field around a point of the large one.
light smooth(const light_field& small, std::size_t column, std::size_t row) {
  const float x = std::clamp((static_cast<float>(column) + 0.5F) / shrunk_by - 0.5F, 0.0F,
                             static_cast<float>(small.width - 1));
  const float y = std::clamp((static_cast<float>(row) + 0.5F) / shrunk_by - 0.5F, 0.0F,
                             static_cast<float>(small.height - 1));
  const auto left = static_cast<std::size_t>(x);
  const auto top = static_cast<std::size_t>(y);
  const std::size_t right = std::min(left + 1, small.width - 1);
  const std::size_t below = std::min(top + 1, small.height - 1);
  const float across = x - static_cast<float>(left);
  return mixed(mixed(small.at(left, top), small.at(right, top), across),
               mixed(small.at(left, below), small.at(right, below), across),
               y - static_cast<float>(top));
}

}  // namespace

void bloom(light_field& field, float strength) {
  light_field small = shrunk(field);
  for (int time = 0; time < 3; ++time) {  // three boxes are nearly a bell
    small = blurred_and_turned(blurred_and_turned(small));
  }
  tbb::parallel_for(std::size_t{0}, field.height, [&](std::size_t row) {
    for (std::size_t column = 0; column < field.width; ++column) {
      field.at(column, row) += smooth(small, column, row) * strength;
    }
  });
}

}  // namespace particles
