/// @file
/// Internal. What the registry of threads needs from the system: a mutex, atomic words, and a call
/// when a thread ends. A model-checking build includes its own header instead, which
/// LIDO_THREAD_SYSTEM_SEAM names.
#pragma once

#ifdef LIDO_THREAD_SYSTEM_SEAM
#include LIDO_THREAD_SYSTEM_SEAM
#else

#include <cstdint>
#include <optional>

#include "../platform/platform.hpp"
#include "lido/concurrency/atomic.hpp"
#include "number_ranges.hpp"

namespace lido::inline v0::detail {

using thread_registry_mutex = platform::static_mutex;

/// An atomic that lives as long as the process, and therefore longer than one execution of a model.
template <class T>
using registry_word = atomic<T>;

using platform::thread_exit_hook;

/// The source of the registry's numbers. It takes ranges from an object that all copies of the
/// library in this process share.
class number_source {
 public:
  /// Agrees with the other copies on the shared object. Must be called when the library is loaded;
  /// a second call has no effect.
  ///
  /// The object lies in separately mapped memory, so that any copy may be unloaded.
  void join() noexcept {
    common_ranges common;
    platform::visit_copies(
        [](void* copy, void* visitor) {
          static_cast<common_ranges*>(visitor)->look_at(*static_cast<word*>(copy));
        },
        &common);
    void* const mine = common.is_known() ? nullptr : platform::map_zeros(sizeof(number_ranges));
    void* const agreed = common.agree(*static_cast<word*>(platform::own_copy_word()), mine);
    if (mine != nullptr && mine != agreed) {
      platform::unmap_zeros(mine, sizeof(number_ranges));
    }
    // relaxed: the memory of the object is zeros, which no thread has written
    ranges_.store(static_cast<number_ranges*>(agreed), std::memory_order_relaxed);
  }

  /// Returns true if there is a shared object. As long as there is none, `take` returns nothing.
  [[nodiscard]] bool is_joined() const noexcept {
    // relaxed: as in join
    return ranges_.load(std::memory_order_relaxed) != nullptr;
  }

  /// Takes a range in the same way as `number_ranges::take`. Also returns nothing before `join` has
  /// been called.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept {
    // relaxed: as in join
    number_ranges* const ranges = ranges_.load(std::memory_order_relaxed);
    return ranges != nullptr ? ranges->take() : std::nullopt;
  }
  [[nodiscard]] std::uint32_t highest() const noexcept {
    // relaxed: as in join
    const number_ranges* const ranges = ranges_.load(std::memory_order_relaxed);
    return ranges != nullptr ? ranges->highest() : 0;
  }

 private:
  using word = common_ranges::word;

  atomic<number_ranges*> ranges_{nullptr};
};

// Only one file includes this header, so each copy of the library has one instance of what follows.
// NOLINTBEGIN(google-build-namespaces,cert-dcl59-cpp,misc-definitions-in-headers)
namespace {

constinit thread_local bool ending_thread = false;

/// Marks the calling thread as ending. Called when the thread's number is taken back. The mark is
/// never removed, because destructors of other thread-specific keys may still use pools.
void mark_thread_ending() noexcept {
  ending_thread = true;
}

[[nodiscard]] bool thread_is_ending() noexcept {
  return ending_thread;
}

}  // namespace
// NOLINTEND(google-build-namespaces,cert-dcl59-cpp,misc-definitions-in-headers)

}  // namespace lido::inline v0::detail

#endif
