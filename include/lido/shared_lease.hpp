/// @file
/// Public entry: `share`, which turns a lease into a std::shared_ptr.
#pragma once

#include "lido/object/shared_lease.hpp"
