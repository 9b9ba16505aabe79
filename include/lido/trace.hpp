/// @file
/// Public entry for `lido::trace`. Needs the target lido::trace. Not part of lido.hpp.
#pragma once

#include "lido/platform/compiler.hpp"  // refuses C++17

#include "lido/telemetry/trace.hpp"
