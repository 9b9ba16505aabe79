/// @file
/// Internal. The threads that pools start. A model-checking build names a header of its own in
/// LIDO_POOL_THREAD_SEAM.
#pragma once

#ifdef LIDO_POOL_THREAD_SEAM
#include LIDO_POOL_THREAD_SEAM
#else

#include <thread>
#include <utility>

#include "../platform/platform.hpp"

namespace lido::inline v0::detail {

using pool_thread = std::thread;

[[nodiscard]] inline pool_thread::id this_pool_thread() noexcept {
  return std::this_thread::get_id();
}

/// Starts a thread of a pool. Throws std::system_error or std::bad_alloc.
template <class Body>
[[nodiscard]] pool_thread start_pool_thread(const char* name, Body body) {
  return platform::start_thread(name, std::move(body));
}

}  // namespace lido::inline v0::detail

#endif
