/// @file
/// Public entry: `slot_map<T>`, values that are walked often and reached by handles.
#pragma once

#include "lido/base/words_free.hpp"

#include "lido/slot_map/slot_map.hpp"

#include "lido/base/words_back.hpp"
