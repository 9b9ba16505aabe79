/// @file
/// Public entry: `registry`, the pools of a process by name.
#pragma once

#include "lido/debug/registry.hpp"
