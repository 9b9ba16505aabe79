/// @file
/// LIDO_THREAD_SYSTEM_SEAM of the model build: the system services of the registry of threads.
#pragma once

#include <algorithm>
#include <atomic>

#include "checker/sync.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "seam/system.hpp"

namespace lido::inline v0::detail {

using thread_registry_mutex = model::mutex;

/// A word of the registry, which outlives executions, so it is not in the modelled memory: a thread
/// never reads an old value of it.
template <class T>
class registry_word {
 public:
  constexpr explicit registry_word(T value) noexcept : value_(value) {}
  [[nodiscard]] T load(std::memory_order /*order*/) const noexcept { return value_; }
  void store(T value, std::memory_order /*order*/) noexcept { value_ = value; }

 private:
  T value_;
};

/// The only copy of the library, which keeps its numbers from one execution to the next.
class number_source {
 public:
  constexpr void join() noexcept {}
  [[nodiscard]] static constexpr bool is_joined() noexcept { return true; }
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept {
    return next_ < number_ranges_count ? std::optional(next_++) : std::nullopt;
  }
  [[nodiscard]] std::uint32_t highest() const noexcept {
    return std::min(next_ * numbers_in_range, max_thread_number);
  }

 private:
  std::uint32_t next_ = 0;
};

class thread_exit_hook {
 public:
  bool prepare(void (*function)(void*)) noexcept {
    function_ = function;
    model::execution::now().keep_for_each_thread(thread_offset);
    model::forget_unused_caches();
    return true;
  }
  [[nodiscard]] bool arm(void* argument) const noexcept {
    model::execution::now().at_thread_exit(function_, argument);
    return true;
  }
  /// Returns null: the thread-local words of a modelled thread last until its end.
  [[nodiscard]] static void* armed() noexcept { return nullptr; }

 private:
  void (*function_)(void*) = nullptr;
};

/// Does nothing: a modelled thread does nothing after its exit.
inline void mark_thread_ending() noexcept {}
[[nodiscard]] inline bool thread_is_ending() noexcept {
  return false;
}

}  // namespace lido::inline v0::detail
