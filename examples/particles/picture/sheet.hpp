/// @file
/// Several pictures on one.
#pragma once

#include <vector>

#include "image.hpp"

namespace particles {

/// Two beside one another in as many rows as it takes, each half as wide and high as before.
/// Requires: all of one size, and at least one.
image sheet_of(const std::vector<image>& pictures);

}  // namespace particles
