/// @file
/// Public entry for resources of many kinds under one limit: `lido::keyed_resource_pool`.
#pragma once

#include "lido/resource/keyed_resource_pool.hpp"
