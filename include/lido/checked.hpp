/// @file
/// Public entry: the checks that `checked_traits<T>` selects, and the handler that receives their
/// findings.
#pragma once

#include "lido/debug/misuse.hpp"
#include "lido/debug/slot_checks.hpp"
#include "lido/object_pool.hpp"
