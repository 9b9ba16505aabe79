/// @file
/// Writes an animation to one file, through libwebp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "image.hpp"

struct WebPAnimEncoder;

namespace particles {

/// A WebP animation. Not thread-safe. Throws std::runtime_error that names the file.
class webp_animation {
 public:
  webp_animation(std::filesystem::path file, std::size_t width, std::size_t height,
                 int milliseconds_a_frame);

  void add(const image& picture);

  /// Writes the file, which does not exist before.
  void finish();

 private:
  struct closer {
    void operator()(WebPAnimEncoder* encoder) const noexcept;
  };

  void expect(bool well) const;

  std::filesystem::path file_;
  std::unique_ptr<WebPAnimEncoder, closer> encoder_;
  int milliseconds_a_frame_;
  int now_ = 0;
};

}  // namespace particles
