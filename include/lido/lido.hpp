/// @file
/// Public entry: all of Lido except lido/testing.hpp and what needs another library.
#pragma once

#include "lido/block_resource.hpp"
#include "lido/checked.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/object_pool.hpp"
#include "lido/resource_pool.hpp"
#include "lido/slot_map.hpp"
