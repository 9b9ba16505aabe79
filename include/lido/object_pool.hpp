/// @file
/// Public entry: `object_pool<T>`, `lease<T>` and their policies.
#pragma once

#include "lido/base/words_free.hpp"

#include "lido/object/lease.hpp"
#include "lido/object/object_pool.hpp"
#include "lido/object/options.hpp"
#include "lido/object/policy.hpp"

#include "lido/base/words_back.hpp"
