/// @file
/// Public entry: all of Lido except lido/testing.hpp and headers that need another library.
#pragma once

#include <version>

#include "lido/checked.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/memory_source.hpp"
#include "lido/object_pool.hpp"
#include "lido/registry.hpp"
#include "lido/shared_lease.hpp"
#include "lido/slot_map.hpp"
#include "lido/try_make.hpp"
#include "lido/version.hpp"

// These headers need parts of the standard library that some implementations lack.
#if __has_include(<memory_resource>)
#include "lido/block_resource.hpp"
#include "lido/pmr_source.hpp"
#endif
#if defined(__cpp_lib_jthread)
#include "lido/co_acquire.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#endif
