/// @file
/// Public entry for tests: checks that nothing is missing afterwards. Not part of lido.hpp.
#pragma once

#include "lido/object_pool.hpp"
#include "lido/testing/conservation.hpp"
