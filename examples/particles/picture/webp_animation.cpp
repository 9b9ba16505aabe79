#include "webp_animation.hpp"

#include <fmt/format.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <fstream>
#include <stdexcept>
#include <utility>

namespace particles {
namespace {

WebPAnimEncoder* new_encoder(std::size_t width, std::size_t height) {
  WebPAnimEncoderOptions options;
  if (WebPAnimEncoderOptionsInit(&options) == 0) {
    return nullptr;
  }
  return WebPAnimEncoderNew(static_cast<int>(width), static_cast<int>(height), &options);
}

WebPConfig fast_config() {
  WebPConfig config;
  if (WebPConfigInit(&config) == 0) {
    throw std::runtime_error("libwebp of another version than its header");
  }
  config.quality = 72;
  config.method = 1;  // of 0 (fast) to 6 (small)
  return config;
}

/// Frees what libwebp allocated for the pixels.
class webp_picture {
 public:
  explicit webp_picture(const image& from) {
    ready_ = WebPPictureInit(&value_) != 0;
    if (ready_) {
      value_.use_argb = 1;
      value_.width = static_cast<int>(from.width);
      value_.height = static_cast<int>(from.height);
      ready_ = WebPPictureImportRGB(&value_, &from.pixels.front().red,
                                    static_cast<int>(from.width * sizeof(colour))) != 0;
    }
  }
  webp_picture(const webp_picture&) = delete;
  webp_picture& operator=(const webp_picture&) = delete;
  ~webp_picture() { WebPPictureFree(&value_); }

  [[nodiscard]] bool ready() const noexcept { return ready_; }
  WebPPicture* get() noexcept { return &value_; }

 private:
  WebPPicture value_{};
  bool ready_ = false;
};

}  // namespace

void webp_animation::closer::operator()(WebPAnimEncoder* encoder) const noexcept {
  WebPAnimEncoderDelete(encoder);
}

webp_animation::webp_animation(std::filesystem::path file, std::size_t width, std::size_t height,
                               int milliseconds_a_frame)
    : file_(std::move(file)),
      encoder_(new_encoder(width, height)),
      milliseconds_a_frame_(milliseconds_a_frame) {
  expect(encoder_ != nullptr);
}

void webp_animation::add(const image& picture) {
  static const WebPConfig config = fast_config();
  webp_picture frame(picture);
  expect(frame.ready() && WebPAnimEncoderAdd(encoder_.get(), frame.get(), now_, &config) != 0);
  now_ += milliseconds_a_frame_;
}

void webp_animation::finish() {
  expect(WebPAnimEncoderAdd(encoder_.get(), nullptr, now_, nullptr) != 0);
  WebPData assembled;
  WebPDataInit(&assembled);
  const bool well = WebPAnimEncoderAssemble(encoder_.get(), &assembled) != 0;
  std::ofstream out(file_, std::ios::binary);
  // NOLINTNEXTLINE(*-reinterpret-cast): streams take char
  out.write(reinterpret_cast<const char*>(assembled.bytes),
            static_cast<std::streamsize>(assembled.size));
  out.close();
  WebPDataClear(&assembled);
  expect(well && out.good());
}

void webp_animation::expect(bool well) const {
  if (!well) {
    const char* const why = encoder_ ? WebPAnimEncoderGetError(encoder_.get()) : "";
    throw std::runtime_error(fmt::format("cannot write {}: {}", file_.string(), why));
  }
}

}  // namespace particles
