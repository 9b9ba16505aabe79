#include "preview.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace particles {
namespace {

constexpr std::size_t widest = 120;

struct grid {
  std::size_t columns;
  std::size_t rows;
};

/// Returns the mean of the part of the picture in a cell of the grid.
colour mean(const image& picture, const grid& cells, std::size_t column, std::size_t row) {
  const std::size_t left = column * picture.width / cells.columns;
  const std::size_t right = std::max((column + 1) * picture.width / cells.columns, left + 1);
  const std::size_t top = row * picture.height / cells.rows;
  const std::size_t bottom = std::max((row + 1) * picture.height / cells.rows, top + 1);
  std::size_t red = 0;
  std::size_t green = 0;
  std::size_t blue = 0;
  for (std::size_t y = top; y < bottom; ++y) {
    for (std::size_t x = left; x < right; ++x) {
      const colour& pixel = picture.at(x, y);
      red += pixel.red;
      green += pixel.green;
      blue += pixel.blue;
    }
  }
  const std::size_t count = (right - left) * (bottom - top);
  return {static_cast<std::uint8_t>(red / count), static_cast<std::uint8_t>(green / count),
          static_cast<std::uint8_t>(blue / count)};
}

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::size_t{size.ws_col} : std::size_t{80};
}

}  // namespace

std::string as_text(const image& picture, std::size_t columns, std::size_t lines) {
  const grid cells{.columns = columns, .rows = lines * 2};
  std::string text;
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t column = 0; column < columns; ++column) {
      const colour upper = mean(picture, cells, column, line * 2);
      const colour lower = mean(picture, cells, column, line * 2 + 1);
      fmt::format_to(std::back_inserter(text), "\033[38;2;{};{};{};48;2;{};{};{}m\u2580", upper.red,
                     upper.green, upper.blue, lower.red, lower.green, lower.blue);
    }
    text += "\033[0m\n";
  }
  return text;
}

preview::preview(bool wanted)
    : on_(wanted && isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr) {}

void preview::show(const image& picture) {
  if (!on_) {
    return;
  }
  const std::size_t columns = std::min({terminal_columns(), widest, picture.width});
  const std::size_t lines = std::max<std::size_t>(columns * picture.height / picture.width / 2, 1);
  const std::string text = as_text(picture, columns, lines);
  clear();
  fmt::print("{}", text);
  std::fflush(stdout);
  lines_shown_ = lines;
}

void preview::clear() {
  if (lines_shown_ > 0) {
    fmt::print("\033[{}A\033[J", lines_shown_);
    std::fflush(stdout);
    lines_shown_ = 0;
  }
}

}  // namespace particles
