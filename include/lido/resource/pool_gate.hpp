/// @file
/// Internal. What all groups of a resource pool share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lido/base/assert.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/slow_path_flags.hpp"
#include "lido/resource/thread_state.hpp"

namespace lido::inline v0 {
class duration_histogram;
}

namespace lido::inline v0::detail {

struct gate_memory;

/// What all groups of a pool share: flags, time, limits, and the states of threads.
class pool_gate {
 public:
  /// Creates a gate. `max_total` is the limit of a keyed pool, and 0 in a pool without keys. Throws
  /// std::bad_alloc.
  pool_gate(const life_limits& limits, std::uint32_t max_total);
  pool_gate(const pool_gate&) = delete;
  pool_gate& operator=(const pool_gate&) = delete;
  ~pool_gate();

  [[nodiscard]] thread_state& mine() const noexcept { return state_of(own_thread_state()); }
  /// Returns the hint for keys whose hash is `hash`: the slot that some thread had last for such a
  /// key. Keys with other hashes may share this hint. Requires: the pool has keys.
  [[nodiscard, LIDO_ASSERTS]] relaxed<pool_slot*>& last_of_key(std::uint64_t hash) const noexcept {
    LIDO_ASSERT(has_keys(), "a key is sought in a pool without any");
    return last_of_keys_[hint_of(hash)];
  }
  /// Makes all threads forget the resource that they had last. Each thread then takes the idle
  /// resource in the lowest position.
  void forget_last() const noexcept;
  /// Returns true if the pool may have a key whose hash is `hash`, and false if it certainly has
  /// none. Requires: the pool has keys.
  [[nodiscard, LIDO_ASSERTS]] bool may_know(std::uint64_t hash) const noexcept {
    LIDO_ASSERT(has_keys(), "a key is sought in a pool without any");
    return keys_like_[hint_of(hash)].get() != 0;
  }
  /// Records that a key whose hash is `hash` is added or, if `comes` is false, removed. Requires:
  /// the pool's mutex is held.
  [[LIDO_ASSERTS]] void count_key(std::uint64_t hash, bool comes) const noexcept {
    relaxed<std::uint32_t>& keys = keys_like_[hint_of(hash)];
    LIDO_ASSERT(comes || keys.get() != 0, "more keys go than came");
    keys.set(comes ? keys.get() + 1 : keys.get() - 1);
  }
  [[nodiscard]] bool has_keys() const noexcept { return last_of_keys_ != nullptr; }
  /// Returns true if no thread is still inside a `leaving_guard` that it entered before this call.
  /// Such a thread has given up its slot, but may still read the pool.
  [[nodiscard]] bool is_quiet() const noexcept {
    for (std::size_t i = 0, end = states_in_use(); i < end; ++i) {
      // (1) - this acquire-load synchronizes-with the release-store thread_state.hpp (1) and the
      // release-fetch-sub thread_state.hpp (2): the thread does not touch the pool any more
      if (state_of(i).leaving.load(std::memory_order_acquire) != 0) {
        return false;
      }
    }
    return true;
  }
  /// Returns the pool's time, as of the last tick.
  [[nodiscard]] nanos now() const noexcept { return now_.get(); }
  /// Sets the pool's time, which never decreases. Requires: the pool's mutex is held.
  void advance(nanos now) noexcept {
    if (now > now_.get()) {
      now_.set(now);
    }
  }

  /// Records that the calling thread begins to use the slot. `end_use` records the end of the use.
  void begin_use(pool_slot& slot, bool queued = false) const noexcept {
    slot.count_use(queued);
    if (life.time_uses) [[unlikely]] {
      slot.lease.use_began.set(steady_now());
    }
  }
  void end_use(const pool_slot& slot) noexcept {
    if (life.time_uses) [[unlikely]] {
      add_use_time(steady_now() - slot.lease.use_began.get());
    }
  }
  void add_use_times(duration_histogram& to) const noexcept;

  slow_path_flags flags;
  const life_limits life;

 private:
  void add_use_time(nanos length) noexcept;
  /// Returns how many states may be in use. The others have never been touched, so readers leave
  /// them alone. Each state occupies a cache line, and four states of one pool span a page.
  [[nodiscard]] static std::size_t states_in_use() noexcept {
    const std::size_t numbers = std::size_t{highest_thread_number()} + 1;
    return numbers < thread_states ? numbers : thread_states;
  }
  [[nodiscard]] thread_state& state_of(std::size_t thread) const noexcept {
    return threads_[thread * pools_side_by_side];
  }
  [[nodiscard]] std::uint64_t hint_of(std::uint64_t hash) const noexcept {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15U;  // spreads hashes of plain integers
    return (hash * golden_ratio) >> hint_shift_;
  }

  relaxed<nanos> now_;
  /// Owns the memory of the next three members. For why it is not a unique_ptr, see `shell_` in
  /// pool_core.hpp.
  std::shared_ptr<gate_memory> memory_;
  thread_state* threads_;
  relaxed<pool_slot*>* last_of_keys_;  ///< null in a pool without keys
  relaxed<std::uint32_t>* keys_like_;  ///< number of keys that share each hint
  int hint_shift_;
};

}  // namespace lido::inline v0::detail
