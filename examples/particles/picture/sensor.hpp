/// @file
/// Collects the light of particles from many threads.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "light.hpp"

namespace particles {

/// Gives each thread its own sheet, and counts light in whole grains. Their sum does not depend on
/// the order, so the picture does not depend on which thread drew what.
class sensor {
 public:
  sensor(std::size_t width, std::size_t height);

  /// Adds a dot at (x, y) in pixels, spread over the four pixels around it. Ignores dots outside.
  /// Any thread may call it.
  void add(float x, float y, const light& colour) { add_to(sheets_.local(), x, y, colour); }

  /// Light of one pixel in the calling thread's own sheet, for callers that add many dots.
  struct grains {
    std::uint32_t red = 0;
    std::uint32_t green = 0;
    std::uint32_t blue = 0;
    std::uint32_t unused = 0;  ///< four are added as fast as three
  };
  using sheet = std::vector<grains>;
  [[nodiscard]] sheet& mine() { return sheets_.local(); }
  void add_to(sheet& on, float x, float y, const light& colour) const;

  /// Renders all light since the last call, times `exposure`. One thread at a time, and no `add`
  /// beside it.
  void develop(light_field& into, float exposure);

 private:
  std::size_t width_;
  std::size_t height_;
  tbb::enumerable_thread_specific<sheet> sheets_;
};

}  // namespace particles
