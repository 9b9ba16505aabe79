/// @file
/// A picture as in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace particles {

struct colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

/// An image in rows from the top, without gaps.
struct image {
  image(std::size_t columns, std::size_t rows)
      : width(columns), height(rows), pixels(columns * rows) {}

  [[nodiscard]] colour& at(std::size_t column, std::size_t row) {
    return pixels[row * width + column];
  }
  [[nodiscard]] const colour& at(std::size_t column, std::size_t row) const {
    return pixels[row * width + column];
  }

  std::size_t width;
  std::size_t height;
  std::vector<colour> pixels;
};

}  // namespace particles
