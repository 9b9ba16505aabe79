/// @file
/// Public entry for resources of many kinds under one limit: `lido::keyed_resource_pool`.
#pragma once

#include "lido/base/words_free.hpp"

#include "lido/resource/keyed_resource_pool.hpp"

#include "lido/base/words_back.hpp"
