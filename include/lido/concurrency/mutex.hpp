/// @file
/// Internal. The mutex of what may block. A model-checking build names its own header in
/// LIDO_MUTEX_SEAM.
#pragma once

#ifdef LIDO_MUTEX_SEAM
#include LIDO_MUTEX_SEAM
#else

#include <mutex>

namespace lido::detail {

using plain_mutex = std::mutex;

}  // namespace lido::detail

#endif
