/// @file
/// Public entry: formats statistics and reports of pools with fmt. Needs the target lido::fmt.
#pragma once

#include "lido/registry.hpp"
#include "lido/telemetry/fmt.hpp"
