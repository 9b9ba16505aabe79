/// @file
/// Public entry for tests: checks that a pool has lost no slot and that no object has leaked. Not
/// part of lido.hpp.
#pragma once

#include "lido/object_pool.hpp"
#include "lido/testing/conservation.hpp"
