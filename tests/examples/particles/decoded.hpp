/// @file
/// Decodes pictures with the libraries' decoders.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "picture.hpp"

namespace particles {

/// Returns the decoded picture. Throws std::runtime_error if the file is no such picture.
image read_png(const std::filesystem::path& file);
std::vector<image> read_webp(const std::filesystem::path& file);

}  // namespace particles
