/// @file
/// Functions of the other translation unit.
#pragma once

#include <cstddef>

#include "lido/lido.hpp"

namespace second {

lido::lease<int> acquire(lido::object_pool<int>& pool, int value);
const std::size_t* thread_offset();

}  // namespace second
