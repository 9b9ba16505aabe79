/// @file
/// One picture in a file of its own, through libpng.
#pragma once

#include <filesystem>

#include "image.hpp"

namespace particles {

/// Throws std::runtime_error that names the file.
void write_png(const image& picture, const std::filesystem::path& file);

}  // namespace particles
