/// @file
/// Public entry: memory of a std::pmr::memory_resource for pools.
#pragma once

#include "lido/pmr/pmr_source.hpp"
