/// @file
/// Public entry: `policy::checked` and the handler that its findings go to.
#pragma once

#include "lido/debug/checked.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/object_pool.hpp"
