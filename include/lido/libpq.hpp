/// @file
/// Public entry for pools of PostgreSQL connections: `lido::postgres_factory`. Needs the target
/// lido::libpq. Not part of lido.hpp.
#pragma once

#include "lido/connect/postgres_factory.hpp"
#include "lido/resource_pool.hpp"
