/// @file
/// Public. `testing::torture`: how badly the pools of a test are treated, and from which seed.
#pragma once

#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"

namespace lido::testing {

/// How often, in a thousand chances, each thing happens to pools with the policies of
/// lido/testing/policies.hpp. All but `refusals` can happen in any run, only hardly ever do.
struct torture_options {
  std::uint64_t seed = 1;
  /// A compare-and-swap on a shared list fails although no other thread was there.
  unsigned cas_failures = 200;
  /// An acquire or release goes past the thread's cache, to lists and caches that others use.
  unsigned cache_misses = 200;
  /// A thread stands still: with a slot in its hands that it is just taking or giving back, or
  /// between reading a shared list and changing it.
  unsigned delays = 20;
  /// An acquire says that the pool is exhausted although it is not. For code that must live with
  /// exhaustion; a pool whose users have fewer objects than slots never does this by itself.
  unsigned refusals = 0;
};

}  // namespace lido::testing

namespace lido::detail {

/// What all threads know of the torture under way. One for the process.
struct torture_state {
  atomic<std::uint64_t> seed{0};
  atomic<std::uint64_t> round{0};  ///< of the scopes so far
  atomic<std::uint32_t> threads{0};
  atomic<std::uint32_t> cas_failures{0};
  atomic<std::uint32_t> cache_misses{0};
  atomic<std::uint32_t> delays{0};
  atomic<std::uint32_t> refusals{0};
};
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): set by tests
inline constinit torture_state torture_now{};

/// The calling thread's generator: its sequence follows from the seed and from how many threads
/// threw before it.
struct torture_dice {
  std::uint64_t state = 0;
  std::uint64_t seen = 0;  ///< round that the state is of
  unsigned calm = 0;       ///< more than 0: nothing happens to this thread
};
inline constinit thread_local torture_dice dice_of_thread{};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// Number after number (Steele, Lea, Flood: SplitMix, OOPSLA 2014).
[[nodiscard]] inline std::uint64_t throw_dice(torture_dice& dice) noexcept {
  std::uint64_t mixed = dice.state += 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

/// Whether it happens now; `chance` in a thousand.
// relaxed (whole function): tests set the numbers before their threads begin
[[nodiscard]] inline bool happens(const atomic<std::uint32_t>& chance) noexcept {
  const std::uint32_t wanted = chance.load(std::memory_order_relaxed);
  torture_dice& dice = dice_of_thread;
  if (wanted == 0 || dice.calm > 0) {
    return false;
  }
  if (const std::uint64_t round = torture_now.round.load(std::memory_order_relaxed);
      dice.seen != round) {
    dice.seen = round;
    dice.state = torture_now.seed.load(std::memory_order_relaxed);
    for (auto n = torture_now.threads.fetch_add(1, std::memory_order_relaxed); n > 0; --n) {
      dice.state = throw_dice(dice);
    }
  }
  return throw_dice(dice) % 1000 < wanted;
}

/// Perhaps stands still for a moment: mostly gives the processor away, sometimes sleeps.
inline void perhaps_delay() noexcept {
  if (happens(torture_now.delays)) {
    if (throw_dice(dice_of_thread) % 4 == 0) {
      nap_thread();
    } else {
      yield_thread();
    }
  }
}

/// Nothing happens to this thread for as long as it lives.
class torture_pause {
 public:
  torture_pause() noexcept { ++dice_of_thread.calm; }
  torture_pause(const torture_pause&) = delete;
  torture_pause& operator=(const torture_pause&) = delete;
  ~torture_pause() { --dice_of_thread.calm; }
};

}  // namespace lido::detail

namespace lido::testing {

/// Tortures, for as long as it lives, all pools of the process that have a policy for it. One at a
/// time; made and ended while no other thread is in a call to such a pool.
///
/// One thread sees the same for the same seed again. Several see the same sequences each, but how
/// they meet is up to the system.
class torture_scope {
 public:
  torture_scope() noexcept : torture_scope(torture_options{}) {}
  // relaxed (whole function): threads that start later see it, and earlier ones are not in a call
  explicit torture_scope(const torture_options& options) noexcept {
    using detail::torture_now;
    torture_now.seed.store(options.seed, std::memory_order_relaxed);
    torture_now.threads.store(0, std::memory_order_relaxed);
    torture_now.round.fetch_add(1, std::memory_order_relaxed);
    torture_now.cas_failures.store(options.cas_failures, std::memory_order_relaxed);
    torture_now.cache_misses.store(options.cache_misses, std::memory_order_relaxed);
    torture_now.delays.store(options.delays, std::memory_order_relaxed);
    torture_now.refusals.store(options.refusals, std::memory_order_relaxed);
  }
  torture_scope(const torture_scope&) = delete;
  torture_scope& operator=(const torture_scope&) = delete;
  // relaxed (whole function): as in the constructor
  ~torture_scope() {
    using detail::torture_now;
    torture_now.cas_failures.store(0, std::memory_order_relaxed);
    torture_now.cache_misses.store(0, std::memory_order_relaxed);
    torture_now.delays.store(0, std::memory_order_relaxed);
    torture_now.refusals.store(0, std::memory_order_relaxed);
  }
};

}  // namespace lido::testing
