/// @file
/// Public entry: `pool_collector`, which exports pools to prometheus-cpp. Needs the target
/// lido::prometheus.
#pragma once

#include "lido/registry.hpp"
#include "lido/telemetry/prometheus.hpp"
