/// @file
/// Public entry for users of oneTBB: `lido::par`. Needs the target lido::tbb. Not part of lido.hpp.
#pragma once

#include "lido/platform/compiler.hpp"  // refuses C++17

#include "lido/slot_map/par.hpp"
