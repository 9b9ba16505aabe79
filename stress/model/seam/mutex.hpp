/// @file
/// LIDO_MUTEX_SEAM of the model build.
#pragma once

#include "checker/sync.hpp"

namespace lido::inline v0::detail {

using plain_mutex = model::mutex;

}  // namespace lido::inline v0::detail
