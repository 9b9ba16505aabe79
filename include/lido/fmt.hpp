/// @file
/// Public entry: statistics and reports of pools for fmt. Links lido::fmt.
#pragma once

#include "lido/registry.hpp"
#include "lido/telemetry/fmt.hpp"
