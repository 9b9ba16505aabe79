/// @file
/// Public entry: memory of the program for pools.
#pragma once

#include "lido/platform/compiler.hpp"  // refuses C++17

#include "lido/base/memory_source.hpp"
