/// @file
/// Public entry: `registry`, which lists the pools of a process by name, and their statistics as
/// text and JSON.
#pragma once

#include "lido/debug/registry.hpp"
#include "lido/telemetry/metrics.hpp"
