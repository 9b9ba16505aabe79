/// @file
/// Public entry: memory of the program for pools.
#pragma once

#include "lido/base/memory_source.hpp"
