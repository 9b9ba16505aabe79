/// @file
/// Public entry: `registry`, the pools of a process by name, and their numbers as text and JSON.
#pragma once

#include "lido/debug/registry.hpp"
#include "lido/telemetry/metrics.hpp"
