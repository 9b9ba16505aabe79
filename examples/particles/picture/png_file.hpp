/// @file
/// Writes one picture to a file, through libpng.
#pragma once

#include <filesystem>

#include "image.hpp"

namespace particles {

/// Writes the picture. Throws std::runtime_error that names the file.
void write_png(const image& picture, const std::filesystem::path& file);

}  // namespace particles
