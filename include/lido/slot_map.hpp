/// @file
/// Public entry: `slot_map<T>`, values that are walked often and reached by handles.
#pragma once

#include "lido/slot_map/secondary_map.hpp"
#include "lido/slot_map/slot_map.hpp"
