/// @file
/// Public entry for `lido::trace`. Needs the target lido::trace. Not part of lido.hpp.
#pragma once

#include "lido/telemetry/trace.hpp"
