/// @file
/// Public entry: blocks of fixed sizes as memory resources and as an allocator.
#pragma once

#include "lido/base/words_free.hpp"

#include "lido/pmr/block_resource.hpp"

#include "lido/base/words_back.hpp"
