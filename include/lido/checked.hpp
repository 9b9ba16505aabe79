/// @file
/// Public entry: `policy::checked` and the handler that its findings go to.
#pragma once

#include "lido/base/words_free.hpp"

#include "lido/debug/misuse.hpp"
#include "lido/debug/slot_checks.hpp"
#include "lido/object_pool.hpp"

#include "lido/base/words_back.hpp"
