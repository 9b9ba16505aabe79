/// @file
/// Public entry for tests: free lists under schedules that hardly ever happen by chance, and checks
/// that nothing is missing afterwards. Not part of lido.hpp.
#pragma once

#include "lido/object_pool.hpp"
#include "lido/testing/conservation.hpp"
#include "lido/testing/lists.hpp"
