/// @file
/// Public entry for pools of Redis connections: `lido::redis_factory`. Needs the target
/// lido::hiredis. Not part of lido.hpp.
#pragma once

#include "lido/connect/redis_factory.hpp"
#include "lido/resource_pool.hpp"
