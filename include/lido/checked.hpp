/// @file
/// Public entry: what `checked_traits<T>` needs, and the handler that its findings go to.
#pragma once

#include "lido/debug/misuse.hpp"
#include "lido/debug/slot_checks.hpp"
#include "lido/object_pool.hpp"
