/// @file
/// Public entry for tests: free lists under schedules that hardly ever happen by chance, and checks
/// that nothing is missing afterwards. Not part of lido.hpp.
#pragma once

#include "lido/base/words_free.hpp"

#include "lido/object_pool.hpp"
#include "lido/testing/conservation.hpp"
#include "lido/testing/lists.hpp"

#include "lido/base/words_back.hpp"
