/// @file
/// Paints the particles of a store.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../particle.hpp"
#include "gauge.hpp"
#include "image.hpp"
#include "light.hpp"
#include "sensor.hpp"

namespace particles {

/// Paints a store. `particles`: their usual number; the more, the dimmer each. The width and the
/// height are at least 32.
class painter {
 public:
  painter(std::size_t width, std::size_t height, std::size_t particles);

  /// Paints on all cores. The store must not change during the call.
  template <class Store>
  const image& paint(Store& store, std::size_t frame, const fill& pool) {
    store.visit([this](std::uint64_t, const particle& p) { expose(p); });
    return develop(frame, pool);
  }

 private:
  void expose(const particle& p);
  const image& develop(std::size_t frame, const fill& pool);

  sensor sensor_;
  light_field field_;
  image picture_;
  std::size_t floor_;  ///< row
  float scale_;        ///< pixels in a height of the picture
  float exposure_;
};

}  // namespace particles
