/// @file
/// Public entry: `pool_collector`, pools for prometheus-cpp. Links lido::prometheus.
#pragma once

#include "lido/registry.hpp"
#include "lido/telemetry/prometheus.hpp"
