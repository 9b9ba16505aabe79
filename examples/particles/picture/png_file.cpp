#include "png_file.hpp"

#include <fmt/format.h>
#include <png.h>

#include <stdexcept>

namespace particles {

static_assert(sizeof(colour) == 3, "libpng reads the pixels as they lie");

void write_png(const image& picture, const std::filesystem::path& file) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(picture.width);
  header.height = static_cast<png_uint_32>(picture.height);
  header.format = PNG_FORMAT_RGB;
  header.flags = PNG_IMAGE_FLAG_FAST;
  const int done = png_image_write_to_file(&header, file.c_str(), /*convert_to_8bit=*/0,
                                           picture.pixels.data(), /*row_stride=*/0, nullptr);
  if (done == 0) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", file.string(), header.message));
  }
}

}  // namespace particles
