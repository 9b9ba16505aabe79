#include "lido/debug/pool_registry.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <vector>

#include "lido/concurrency/thread_number.hpp"

namespace lido::detail {

namespace {

bool overlap(const pool_trace& one, const pool_trace& other) noexcept {
  return one.contains(other.first) || other.contains(one.first);
}

template <class Traces>
auto find(Traces& traces, const checked_slots* pool) noexcept {
  return std::find_if(traces.begin(), traces.end(),
                      [pool](const pool_trace& one) { return one.pool == pool; });
}

/// Under one mutex, and never destroyed: pools may outlive every static object. Nor is it made at
/// the first use, where the child of a fork could wait for a thread that it does not have.
class registry {
 public:
  void add(const pool_trace& pool) {
    const std::unique_lock lock = lock_here();
    prepare();
    live_->push_back(pool);
    // What was there before has gone; a pointer to it cannot be told from one to the new pool.
    for (pool_trace& dead : dead_) {
      if (dead.pool == pool.pool || overlap(dead, pool)) {
        dead = {};
      }
    }
  }

  void remove(const checked_slots* pool) noexcept {
    const std::unique_lock lock = lock_here();
    const auto found = find(*live_, pool);
    if (found != live_->end()) {
      dead_[next_dead_++ % dead_.size()] = *found;
      *found = live_->back();
      live_->pop_back();
    }
  }

  [[nodiscard]] pool_lookup look_up(const checked_slots* pool, const void* address) noexcept {
    const std::unique_lock lock = lock_here();
    pool_lookup result;
    if (live_ == nullptr) {
      return result;
    }
    if (const auto self = find(*live_, pool); self != live_->end()) {
      result.pool_alive = true;
      result.self = *self;
    } else if (auto* const dead = find(dead_, pool); dead != dead_.end()) {
      result.self = *dead;
    }
    const auto has = [address](const pool_trace& one) { return one.contains(address); };
    if (const auto live = std::find_if(live_->begin(), live_->end(), has); live != live_->end()) {
      result.owner_found = result.owner_alive = true;
      result.owner = *live;
    } else if (auto* const gone = std::find_if(dead_.begin(), dead_.end(), has);
               gone != dead_.end()) {
      result.owner_found = true;
      result.owner = *gone;
    }
    return result;
  }

  /// Once; again where the system has refused it.
  void watch_forks() noexcept;

 private:
  void prepare();

  /// Not where the handlers below did not run: a thread that is not there may have it for ever.
  [[nodiscard]] std::unique_lock<std::mutex> lock_here() noexcept {
    require_own_process();
    return std::unique_lock(mutex_);
  }

  std::mutex mutex_;
  std::vector<pool_trace>* live_ = nullptr;  // a pointer, because a vector has a destructor
  std::array<pool_trace, remembered_pools> dead_{};
  std::size_t next_dead_ = 0;
  bool has_fork_handlers_ = false;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one registry
constinit registry checked_pools;
static_assert(std::is_trivially_destructible_v<registry>);

/// What the first pool needs; again if it could not be had.
void registry::prepare() {
  if (live_ == nullptr) {
    live_ = new std::vector<pool_trace>;
  }
  watch_forks();
}

/// A child must not inherit the mutex locked by a thread that it does not have.
void registry::watch_forks() noexcept {
  if (!has_fork_handlers_) {
    has_fork_handlers_ =
        pthread_atfork([] { checked_pools.mutex_.lock(); }, [] { checked_pools.mutex_.unlock(); },
                       [] { checked_pools.mutex_.unlock(); }) == 0;
  }
}

/// When the library is loaded, so that handlers of users run while this mutex is free.
[[gnu::constructor(1001)]] void watch_forks_from_the_start() noexcept {
  checked_pools.watch_forks();
}

}  // namespace

bool pool_trace::contains(const void* address) const noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a foreign pointer is a number here
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as above
  return number - reinterpret_cast<std::uintptr_t>(first) < bytes;
}

void register_checked(const pool_trace& pool) {
  checked_pools.add(pool);
}

void unregister_checked(const checked_slots* pool) noexcept {
  checked_pools.remove(pool);
}

pool_lookup look_up(const checked_slots* pool, const void* address) noexcept {
  return checked_pools.look_up(pool, address);
}

}  // namespace lido::detail
