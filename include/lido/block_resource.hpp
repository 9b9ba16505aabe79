/// @file
/// Public entry: blocks of fixed sizes as memory resources and as an allocator.
#pragma once

#include "lido/pmr/block_allocator.hpp"
#include "lido/pmr/block_resource.hpp"
#include "lido/pmr/block_store.hpp"
#include "lido/pmr/size_class_resource.hpp"
