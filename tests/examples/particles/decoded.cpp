#include "decoded.hpp"

#include <png.h>
#include <webp/demux.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

namespace particles {
namespace {

std::vector<std::uint8_t> contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  return {bytes.begin(), bytes.end()};
}

void expect(bool well, const std::filesystem::path& file) {
  if (!well) {
    throw std::runtime_error(file.string() + " is no such picture");
  }
}

struct closer {
  void operator()(WebPAnimDecoder* decoder) const noexcept { WebPAnimDecoderDelete(decoder); }
};

image without_alpha(const std::uint8_t* rgba, const WebPAnimInfo& about) {
  image frame{about.canvas_width, about.canvas_height};
  for (std::size_t i = 0; i < frame.bytes.size(); ++i) {
    frame.bytes[i] = rgba[i / 3 * 4 + i % 3];
  }
  return frame;
}

}  // namespace

image read_png(const std::filesystem::path& file) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  expect(png_image_begin_read_from_file(&header, file.c_str()) != 0, file);
  header.format = PNG_FORMAT_RGB;
  image picture{header.width, header.height};
  expect(png_image_finish_read(&header, nullptr, picture.bytes.data(), 0, nullptr) != 0, file);
  return picture;
}

std::vector<image> read_webp(const std::filesystem::path& file) {
  const std::vector<std::uint8_t> bytes = contents(file);
  const WebPData data{bytes.data(), bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, closer> decoder(WebPAnimDecoderNew(&data, nullptr));
  WebPAnimInfo about;
  expect(decoder != nullptr && WebPAnimDecoderGetInfo(decoder.get(), &about) != 0, file);
  std::vector<image> frames;
  while (WebPAnimDecoderHasMoreFrames(decoder.get()) != 0) {
    std::uint8_t* rgba = nullptr;
    int shown_until = 0;
    expect(WebPAnimDecoderGetNext(decoder.get(), &rgba, &shown_until) != 0, file);
    frames.push_back(without_alpha(rgba, about));
  }
  return frames;
}

}  // namespace particles
