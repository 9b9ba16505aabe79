/// @file
/// Public. Formats the statistics of pools with fmt: `fmt::print("{}\n", pool.stats())`.
#pragma once

#include <fmt/ostream.h>

#include "lido/telemetry/metrics.hpp"

template <>
struct fmt::formatter<lido::pool_stats> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<lido::slot_pool_stats> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<lido::resource_pool_stats> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<lido::pool_report> : fmt::ostream_formatter {};
