/// @file
/// Public entry: `slot_map<T>`, values that are often iterated over and are reached by handles.
#pragma once

#include "lido/slot_map/secondary_map.hpp"
#include "lido/slot_map/slot_map.hpp"
