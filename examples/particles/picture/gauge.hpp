/// @file
/// The bar at the foot of each picture, which shows how full the pool is.
#pragma once

#include <cstddef>

#include "image.hpp"

namespace particles {

struct fill {
  std::size_t in_use = 0;
  std::size_t capacity = 0;
  std::size_t peak = 0;  ///< the whole width of the bar
};

/// Draws the bar. Light: in use. Dark: free. Nothing: no slot. Red end: full.
void draw_gauge(image& into, const fill& pool);

}  // namespace particles
