/// @file
/// Several pictures in one.
#pragma once

#include <vector>

#include "image.hpp"

namespace particles {

/// Returns the pictures in rows of two, each half as wide and high as before. Requires: all have
/// the same size, and there is at least one.
image sheet_of(const std::vector<image>& pictures);

}  // namespace particles
