/// @file
/// Public entry: `object_pool<T>` and `lease<T>`, their options and traits.
#pragma once

#include "lido/object/lease.hpp"
#include "lido/object/object_pool.hpp"
#include "lido/object/options.hpp"
#include "lido/object/traits.hpp"
