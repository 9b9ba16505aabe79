/// @file
/// Public entry: what `checked_traits<T>` needs, and the handler that receives its findings.
#pragma once

#include "lido/debug/misuse.hpp"
#include "lido/debug/slot_checks.hpp"
#include "lido/object_pool.hpp"
