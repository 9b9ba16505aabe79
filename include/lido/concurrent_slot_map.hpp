/// @file
/// Public entry: `concurrent_slot_map<T>`, values for any number of threads, reached by handles.
#pragma once

#include "lido/slot_map/concurrent_slot_map.hpp"
