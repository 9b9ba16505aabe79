#include "sheet.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace particles {
namespace {

std::uint8_t mean(const std::array<const colour*, 4>& pixels, std::uint8_t colour::*part) {
  unsigned sum = 2;
  for (const colour* const pixel : pixels) {
    sum += pixel->*part;
  }
  return static_cast<std::uint8_t>(sum / pixels.size());
}

/// Returns the mean of the four pixels that become one at half the size.
colour mean(const image& picture, std::size_t column, std::size_t row) {
  const std::array<const colour*, 4> pixels{
      &picture.at(column * 2, row * 2), &picture.at(column * 2 + 1, row * 2),
      &picture.at(column * 2, row * 2 + 1), &picture.at(column * 2 + 1, row * 2 + 1)};
  return {mean(pixels, &colour::red), mean(pixels, &colour::green), mean(pixels, &colour::blue)};
}

}  // namespace

image sheet_of(const std::vector<image>& pictures) {
  const std::size_t width = pictures.front().width / 2;
  const std::size_t height = pictures.front().height / 2;
  image sheet(width * 2, height * ((pictures.size() + 1) / 2));
  for (std::size_t number = 0; number < pictures.size(); ++number) {
    for (std::size_t row = 0; row < height; ++row) {
      for (std::size_t column = 0; column < width; ++column) {
        sheet.at(number % 2 * width + column, number / 2 * height + row) =
            mean(pictures[number], column, row);
      }
    }
  }
  return sheet;
}

}  // namespace particles
