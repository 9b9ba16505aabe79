/// @file
/// Light of any brightness, before it becomes a picture.
#pragma once

#include <cstddef>
#include <vector>

namespace particles {

struct light {
  float red = 0;
  float green = 0;
  float blue = 0;

  light& operator+=(const light& other) noexcept {
    red += other.red;
    green += other.green;
    blue += other.blue;
    return *this;
  }
  friend light operator*(const light& one, float by) noexcept {
    return {one.red * by, one.green * by, one.blue * by};
  }
};

inline light mixed(const light& from, const light& to, float share) noexcept {
  light result = from * (1 - share);
  result += to * share;
  return result;
}

/// A field of light in rows from the top.
struct light_field {
  light_field(std::size_t columns, std::size_t rows)
      : width(columns), height(rows), pixels(columns * rows) {}

  [[nodiscard]] light& at(std::size_t column, std::size_t row) {
    return pixels[row * width + column];
  }
  [[nodiscard]] const light& at(std::size_t column, std::size_t row) const {
    return pixels[row * width + column];
  }

  std::size_t width;
  std::size_t height;
  std::vector<light> pixels;
};

}  // namespace particles
