/// @file
/// Internal. What a thread does between two attempts at a contended word.
#pragma once

#include <cstdint>

#include "lido/base/tuning.hpp"

namespace lido::detail {

/// Tells the processor that this is a spin loop.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // An isb, unlike a yield hint, really delays on today's cores.
  asm volatile("isb");  // NOLINT(hicpp-no-assembler)
#endif
}

/// Gives the rest of this thread's time slice away.
void yield_thread() noexcept;

/// Sleeps for as short as the system allows, about 60 microseconds on Linux.
void nap_thread() noexcept;

/// Whether another thread can run while this one spins, as far as the system says.
[[nodiscard]] bool several_processors() noexcept;

/// Exponential pauses after a failed compare-and-swap (Dice, Hendler, Mirsky 2013): 1, 2, 4 ... 64.
class exponential_backoff {
 public:
  void pause() noexcept {
    for (std::uint32_t i = 0; i < pauses_; ++i) {
      cpu_pause();
    }
    pauses_ = pauses_ < most_pauses ? pauses_ * 2 : most_pauses;
  }

  /// Pauses, then gives the processor away, then sleeps: the thread that is waited for may have
  /// lost its own. `waits` waits came before.
  void wait(int waits) noexcept {
    if (waits < tuning::waits_before_yield) {
      pause();
    } else if (waits < tuning::waits_before_nap) {
      yield_thread();
    } else {
      nap_thread();
    }
  }

 private:
  static constexpr std::uint32_t most_pauses = tuning::most_pauses;
  std::uint32_t pauses_ = 1;
};

}  // namespace lido::detail
