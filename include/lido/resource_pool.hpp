/// @file
/// Public entry: `resource_pool<R>` and `resource_lease<R>`, with their factories, options, errors
/// and statistics.
#pragma once

#include "lido/resource/factory.hpp"
#include "lido/resource/lease.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/resource_pool.hpp"
#include "lido/resource/stats.hpp"
