#include "picture.hpp"

#include <fmt/format.h>
#include <png.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace particles {
namespace {

using colour = std::array<float, 3>;

struct tint {
  colour young;
  colour old;
};

constexpr tint gold{{1.0F, 0.52F, 0.12F}, {0.90F, 0.10F, 0.08F}};
constexpr tint cyan{{0.12F, 0.62F, 1.0F}, {0.12F, 0.14F, 0.95F}};
constexpr tint rose{{1.0F, 0.22F, 0.58F}, {0.45F, 0.06F, 0.85F}};
constexpr std::array<tint, 5> of_jet{gold, cyan, cyan, rose, rose};

/// Light of a particle: white-hot at birth, then in the colour of its jet, into the dark.
colour glow_of(const particle& p) noexcept {
  const auto& [young, old] = of_jet[p.jet % of_jet.size()];
  const float spent = static_cast<float>(p.age) / static_cast<float>(p.lifetime);
  const float heat = std::max(0.7F - spent * 4, 0.0F);
  colour glow{};
  for (std::size_t c = 0; c < glow.size(); ++c) {
    const float cooled = young[c] + (old[c] - young[c]) * spent;
    glow[c] = (cooled + (1 - cooled) * heat) * visibility(p);
  }
  return glow;
}

void draw(const gauge& bar, image& into) {
  using pixel = std::array<std::uint8_t, 3>;
  const pixel used = bar.in_use < bar.capacity ? pixel{150, 196, 226} : pixel{244, 108, 76};
  constexpr pixel unused{44, 56, 84};
  const std::size_t top = into.height - (into.height + 89) / 90;
  for (std::size_t i = top * into.width; i < into.height * into.width; ++i) {
    const std::size_t value = i % into.width * bar.peak / into.width;
    if (value < bar.capacity) {
      std::copy_n((value < bar.in_use ? used : unused).begin(), 3, &into.bytes[i * 3]);
    }
  }
}

}  // namespace

painter::painter(std::size_t width, std::size_t height, std::size_t usual)
    : width_(width),
      height_(height),
      floor_(height * 84 / 100),
      scale_(static_cast<float>(height)),
      exposure_(0.19F * static_cast<float>(width * height) / static_cast<float>(usual)),
      glowing_(std::max<std::size_t>(usual / 1600, 1)),
      field_(width * height) {}

/// Spreads `share` of the exposure softly over a disc; nothing outside the picture.
void painter::add_disc(float x, float y, float radius, const light& glow, float share) {
  const auto first = [radius](float at, std::size_t limit) {
    return static_cast<std::size_t>(std::clamp(at - radius + 1, 0.0F, static_cast<float>(limit)));
  };
  const std::size_t right = first(x + 2 * radius, width_);
  const std::size_t bottom = first(y + 2 * radius, height_);
  const float brightness = exposure_ * share / (1.05F * radius * radius);
  for (std::size_t row = first(y, height_); row < bottom; ++row) {
    const float down = (static_cast<float>(row) - y) / radius;
    for (std::size_t column = first(x, width_); column < right; ++column) {
      const float across = (static_cast<float>(column) - x) / radius;
      const float edge = std::max(1 - across * across - down * down, 0.0F);
      const float part = brightness * edge * edge;
      light& pixel = field_[row * width_ + column];
      pixel[0] += glow[0] * part;
      pixel[1] += glow[1] * part;
      pixel[2] += glow[2] * part;
    }
  }
}

/// Draws a streak along the way of half a frame. Some particles sparkle, and a few light up the air
/// around them.
void painter::add(const particle& p) {
  constexpr float shutter = 0.5F;
  const float unit = std::max(scale_ / 360, 0.7F);
  const light glow = glow_of(p);
  const float x = static_cast<float>(width_) / 2 + p.x * scale_;
  const float y = static_cast<float>(floor_) - p.y * scale_;
  const float way = std::hypot(p.vx, p.vy) * scale_ * shutter;
  const int dots = std::clamp(static_cast<int>(way / unit), 1, 5);
  for (int dot = 0; dot < dots; ++dot) {
    const float back = static_cast<float>(dot) / static_cast<float>(dots) * shutter * scale_;
    add_disc(x - p.vx * back, y + p.vy * back, 1.1F * unit, glow, 1 / static_cast<float>(dots));
  }
  if (p.number % 32 == 0) {
    add_disc(x, y, 3 * unit, glow, 6);
  }
  if (p.number % glowing_ == 0) {
    add_disc(x, y, scale_ / 15, glow, 0.55F * static_cast<float>(glowing_));
  }
}

/// Turns light into colours. However bright, nothing is cut off: it saturates as on film. The wet
/// floor mirrors it.
image painter::develop(const gauge& bar) {
  constexpr light zenith{0.001F, 0.002F, 0.010F};
  constexpr light horizon{0.014F, 0.014F, 0.050F};
  image picture{width_, height_};
  for (std::size_t row = 0; row < height_; ++row) {
    const float low = static_cast<float>(row) / static_cast<float>(floor_);
    const float sky = row < floor_ ? low * low * low : std::max(1.3F - low, 0.0F);
    const std::size_t mirrored = row < floor_ ? row : 2 * floor_ - 1 - row;
    for (std::size_t i = 0; i < width_ * 3; ++i) {
      const std::size_t c = i % 3;
      const float behind = zenith[c] + (horizon[c] - zenith[c]) * sky;
      const float direct = field_[row * width_ + i / 3][c];
      const float reflected = row < floor_ ? 0 : field_[mirrored * width_ + i / 3][c] * 0.2F;
      const float seen = std::sqrt(1 - std::exp(-behind - direct - reflected));
      picture.bytes[row * width_ * 3 + i] = static_cast<std::uint8_t>(seen * 255.99F);
    }
  }
  std::fill(field_.begin(), field_.end(), light{});
  draw(bar, picture);
  return picture;
}

void write_png(const image& picture, const std::filesystem::path& file) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(picture.width);
  header.height = static_cast<png_uint_32>(picture.height);
  header.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&header, file.c_str(), /*convert_to_8bit=*/0, picture.bytes.data(),
                              /*row_stride=*/0, nullptr) == 0) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", file.string(), header.message));
  }
}

animation::animation(std::filesystem::path file, std::size_t width, std::size_t height)
    : file_(std::move(file)),
      encoder_(WebPAnimEncoderNew(static_cast<int>(width), static_cast<int>(height), nullptr),
               &WebPAnimEncoderDelete) {
  expect(encoder_ != nullptr);
}

void animation::add(const image& picture) {
  WebPConfig config;
  WebPPicture frame;
  expect(WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, /*quality=*/75) != 0 &&
         WebPPictureInit(&frame) != 0);
  config.method = 1;  // of 0 (fast) to 6 (small)
  frame.use_argb = 1;
  frame.width = static_cast<int>(picture.width);
  frame.height = static_cast<int>(picture.height);
  const bool added = WebPPictureImportRGB(&frame, picture.bytes.data(), frame.width * 3) != 0 &&
                     WebPAnimEncoderAdd(encoder_.get(), &frame, now_, &config) != 0;
  WebPPictureFree(&frame);
  expect(added);
  now_ += 33;  // milliseconds
}

void animation::finish() {
  WebPData assembled;
  WebPDataInit(&assembled);
  const bool well = WebPAnimEncoderAdd(encoder_.get(), nullptr, now_, nullptr) != 0 &&
                    WebPAnimEncoderAssemble(encoder_.get(), &assembled) != 0;
  std::ofstream out(file_, std::ios::binary);
  // NOLINTNEXTLINE(*-reinterpret-cast): streams take char
  out.write(reinterpret_cast<const char*>(assembled.bytes),
            static_cast<std::streamsize>(assembled.size));
  out.close();
  WebPDataClear(&assembled);
  expect(well && out.good());
}

void animation::expect(bool well) const {
  if (!well) {
    const char* const why = encoder_ ? WebPAnimEncoderGetError(encoder_.get()) : "";
    throw std::runtime_error(fmt::format("cannot write {}: {}", file_.string(), why));
  }
}

}  // namespace particles
