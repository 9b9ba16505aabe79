/// @file
/// Internal. A small dense number for each thread, and what happens to it when the thread ends.
///
/// A number indexes the table of caches that every pool has, so a thread finds its cache in any
/// pool with one thread-local load and one addition. Numbers are reused, lowest first. A thread
/// past the table, and one that is already ending, has number 0 and uses the shared path.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/base/tuning.hpp"
#include "lido/concurrency/cache_line.hpp"

namespace lido::detail {

/// Numbers run from 1 to this.
inline constexpr std::uint32_t max_thread_number = tuning::thread_numbers;

/// Distance in bytes between the table entries of two neighbouring numbers.
inline constexpr std::size_t thread_stride = no_false_sharing;

#if defined(__PIC__) && !defined(__PIE__)
// In a shared object the general model would call a function on every use; eight bytes fit into the
// static TLS block even of a process that loads the object late.
#define LIDO_TLS_MODEL [[gnu::tls_model("initial-exec")]]
#else
#define LIDO_TLS_MODEL
#endif

/// The calling thread's number times `thread_stride`; 0 while it has none.
///
/// Constant-initialised and trivially destructible, so reading it is one load. One variable for the
/// whole process even where symbols are hidden by default, because numbers must not collide.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
LIDO_TLS_MODEL
[[gnu::visibility("default")]] inline constinit thread_local std::size_t thread_offset = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// Gives the calling thread a number if one is free and the thread is not ending; sets
/// `thread_offset`. Returns whether the thread has a number now.
///
/// Thread-safe; never throws. `wait` false: gives up when another thread is at the registry.
bool assign_thread_number(bool wait) noexcept;

/// What has caches that belong to threads. Registered for its whole life.
class thread_exit_listener {
 public:
  thread_exit_listener() = default;
  thread_exit_listener(const thread_exit_listener&) = delete;
  thread_exit_listener& operator=(const thread_exit_listener&) = delete;

  /// Called in the thread that ends, before its number can be given to another thread. Excludes
  /// `unregister`. Must not throw, register or unregister.
  virtual void on_thread_exit(std::uint32_t number) noexcept = 0;

  /// Blocking; safe beside ending threads. After `unregister` no call comes any more.
  void register_listener() noexcept;
  void unregister_listener() noexcept;

 protected:
  ~thread_exit_listener() = default;

 private:
  friend class thread_registry;
  thread_exit_listener* previous_ = nullptr;
  thread_exit_listener* next_ = nullptr;
};

}  // namespace lido::detail
