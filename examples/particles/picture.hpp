/// @file
/// Pictures of the fountain: drawn, and written to files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "particle.hpp"

struct WebPAnimEncoder;

namespace particles {

/// Picture in rows from the top, without gaps; each pixel is red, green and blue.
struct image {
  std::size_t width;
  std::size_t height;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(width * height * 3);
};

/// Bar at the foot of a picture: light what is in use, dark what is free, red when the map is full.
/// The whole width is the peak of the demand.
struct gauge {
  std::size_t in_use;
  std::size_t capacity;
  std::size_t peak;
};

/// Adds up the light of particles, each a soft streak, before a night sky and over a wet floor.
class painter {
 public:
  /// `usual` is the usual number of particles. The more there are, the dimmer each is.
  painter(std::size_t width, std::size_t height, std::size_t usual);

  void add(const particle& p);

  /// Returns the picture of all that was added since the last call.
  image develop(const gauge& bar);

 private:
  using light = std::array<float, 3>;

  void add_disc(float x, float y, float radius, const light& glow, float share);

  std::size_t width_;
  std::size_t height_;
  std::size_t floor_;    ///< its first row
  float scale_;          ///< pixels in a height of the picture
  float exposure_;       ///< light of a particle
  std::size_t glowing_;  ///< one of that many lights up the air around it
  std::vector<light> field_;
};

/// Writes a file. Throws std::runtime_error that names it.
void write_png(const image& picture, const std::filesystem::path& file);

/// Moving picture in one file, which `finish` writes. Throws std::runtime_error that names it.
class animation {
 public:
  animation(std::filesystem::path file, std::size_t width, std::size_t height);

  void add(const image& picture);
  void finish();

 private:
  void expect(bool well) const;

  std::filesystem::path file_;
  std::unique_ptr<WebPAnimEncoder, void (*)(WebPAnimEncoder*)> encoder_;
  int now_ = 0;
};

}  // namespace particles
