/// @file
/// Internal. What the registry of threads asks of the system: a mutex, words, and a call when a
/// thread ends. A model-checking build names its own header in LIDO_THREAD_SYSTEM_SEAM.
#pragma once

#ifdef LIDO_THREAD_SYSTEM_SEAM
#include LIDO_THREAD_SYSTEM_SEAM
#else

#include <cstdint>
#include <mutex>
#include <optional>

#include "../platform/platform.hpp"
#include "lido/concurrency/atomic.hpp"
#include "number_ranges.hpp"

namespace lido::detail {

using registry_mutex = std::mutex;

/// An atomic that lives as long as the process, and so longer than an execution of a model.
template <class T>
using registry_word = atomic<T>;

using platform::thread_exit_hook;

/// Where the registry has its numbers from: ranges that all copies of the library in this process
/// share.
class number_source {
 public:
  /// Agrees with the other copies. To be called when the library is loaded; once more has no
  /// effect.
  ///
  /// The object lies in memory of its own, so that any copy may be unloaded. The first of the
  /// copies that are loaded decides, until each has noted the place.
  // relaxed (whole function): the memory of the object is zeros, which no thread has written
  void join() noexcept {
    struct seen {
      word* first = nullptr;
      void* place = nullptr;
    } copies;
    platform::visit_copies(
        [](void* at, void* context) {
          auto& found = *static_cast<seen*>(context);
          auto* const copy = static_cast<word*>(at);
          found.first = found.first != nullptr ? found.first : copy;
          void* const place = copy->load(std::memory_order_relaxed);
          found.place = found.place != nullptr ? found.place : place;
        },
        &copies);
    auto* const own = static_cast<word*>(platform::own_copy_word());
    if (copies.place == nullptr) {
      // A program whose notes were taken away has none.
      copies.place = make_in(copies.first != nullptr ? *copies.first : *own);
    }
    own->store(copies.place, std::memory_order_relaxed);
    ranges_.store(static_cast<number_ranges*>(copies.place), std::memory_order_relaxed);
  }

  /// As `number_ranges::take`; nothing before `join`, too.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept {
    // relaxed: as in join
    number_ranges* const ranges = ranges_.load(std::memory_order_relaxed);
    return ranges != nullptr ? ranges->take() : std::nullopt;
  }

 private:
  using word = atomic<void*>;

  /// Null: there is no memory.
  // relaxed (whole function): as in join
  static void* make_in(word& first) noexcept {
    void* before = nullptr;
    void* const mine = platform::map_zeros(sizeof(number_ranges));
    if (mine != nullptr && !first.compare_exchange_strong(before, mine, std::memory_order_relaxed,
                                                          std::memory_order_relaxed)) {
      platform::unmap_zeros(mine, sizeof(number_ranges));
      return before;
    }
    return mine;
  }

  atomic<number_ranges*> ranges_{nullptr};
};

// One file includes this, so each copy of the library has its own of what follows.
// NOLINTBEGIN(google-build-namespaces,cert-dcl59-cpp,misc-definitions-in-headers)
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
constinit thread_local bool ending_thread = false;

/// Called when the thread's number is taken back, and never undone: destructors of other keys may
/// still use pools.
void mark_thread_ending() noexcept {
  ending_thread = true;
}

[[nodiscard]] bool thread_is_ending() noexcept {
  return ending_thread;
}

}  // namespace
// NOLINTEND(google-build-namespaces,cert-dcl59-cpp,misc-definitions-in-headers)

}  // namespace lido::detail

#endif
