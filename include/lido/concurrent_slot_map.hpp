/// @file
/// Public entry: `concurrent_slot_map<T>`, values for any number of threads, reached by handles.
#pragma once

#include "lido/base/words_free.hpp"

#include "lido/slot_map/concurrent_slot_map.hpp"

#include "lido/base/words_back.hpp"
