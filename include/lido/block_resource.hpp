/// @file
/// Public entry: blocks of fixed sizes as memory resources and as an allocator.
#pragma once

#include "lido/base/exceptions_agree.hpp"
#include "lido/pmr/block_resource.hpp"
