/// @file
/// The pictures of a run: an animation, and some of its frames.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "image.hpp"
#include "webp_animation.hpp"

namespace particles {

/// Writes `<folder>/<name>.webp`, and `<folder>/<name>-<frame>.png` for one frame of `every`. Not
/// thread-safe; encodes on two cores. Throws std::runtime_error that names the file.
class film {
 public:
  struct format {
    std::filesystem::path folder;
    std::string name;
    std::size_t width;
    std::size_t height;
    std::size_t every;
  };

  explicit film(const format& how);

  void add(const image& picture);

  /// Writes the animation; returns its path.
  std::filesystem::path finish();

 private:
  format how_;
  std::filesystem::path animation_file_;
  webp_animation animation_;
  std::size_t frame_ = 0;
};

}  // namespace particles
