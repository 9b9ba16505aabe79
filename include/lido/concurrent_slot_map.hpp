/// @file
/// Public entry: `concurrent_slot_map<T>`, values that any number of threads reach by handles.
#pragma once

#include "lido/slot_map/concurrent_slot_map.hpp"
