#include "gauge.hpp"

#include <algorithm>

namespace particles {
namespace {

constexpr colour used{170, 214, 240};
constexpr colour free_slots{46, 62, 84};
constexpr colour none{10, 12, 20};
constexpr colour full{255, 84, 62};

}  // namespace

void draw_gauge(image& into, const fill& pool) {
  const std::size_t thickness = std::max<std::size_t>(into.height / 72, 1);
  const std::size_t margin = thickness * 2;
  const std::size_t length = into.width - 2 * margin;
  const auto columns = [&](std::size_t slots) {
    return std::min(length, slots * length / std::max<std::size_t>(pool.peak, 1));
  };
  const std::size_t end_used = columns(pool.in_use);
  const std::size_t end_free = columns(pool.capacity);
  for (std::size_t column = 0; column < length; ++column) {
    colour shade = column < end_used ? used : column < end_free ? free_slots : none;
    if (pool.in_use >= pool.capacity && column < end_used && column + margin * 2 >= end_used) {
      shade = full;
    }
    for (std::size_t row = into.height - margin; row < into.height - margin + thickness; ++row) {
      into.at(margin + column, row) = shade;
    }
  }
}

}  // namespace particles
