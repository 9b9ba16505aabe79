#include <algorithm>
#include <bit>
#include <mutex>

#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/slot_checks.hpp"

namespace lido::detail {

namespace {

[[nodiscard]] bool contains(const pool_trace& one, const void* address) noexcept {
  return std::bit_cast<std::uintptr_t>(address) - std::bit_cast<std::uintptr_t>(one.first) <
         one.bytes;
}

/// All checked pools that are alive, and the last of those that have ended. Never destroyed: pools
/// may outlive every static object.
class pool_registry {
 public:
  void add(pool_trace& pool) noexcept {
    const std::unique_lock lock = lock_here();
    pool.alive = true;
    pool.next = live_;
    live_ = &pool;
    // A pointer to what was there before cannot be told from one to the new pool.
    for (pool_trace& dead : dead_) {
      if (dead.pool == pool.pool || contains(dead, pool.first) || contains(pool, dead.first)) {
        dead = {};
      }
    }
  }

  void remove(pool_trace& pool) noexcept {
    const std::unique_lock lock = lock_here();
    pool_trace** link = &live_;
    while (*link != &pool) {
      link = &(*link)->next;
    }
    *link = pool.next;
    pool.alive = false;
    dead_.at(next_dead_++ % dead_.size()) = pool;
  }

  template <class Condition>
  [[nodiscard]] pool_trace find(const Condition& is_wanted) noexcept {
    const std::unique_lock lock = lock_here();
    for (const pool_trace* pool = live_; pool != nullptr; pool = pool->next) {
      if (is_wanted(*pool)) {
        return *pool;
      }
    }
    const auto* const dead = std::find_if(dead_.begin(), dead_.end(), is_wanted);
    return dead != dead_.end() ? *dead : pool_trace{};
  }

 private:
  /// Not where the fork handlers did not run: a thread that is not there may have it for ever.
  [[nodiscard]] std::unique_lock<std::mutex> lock_here() noexcept {
    require_own_process();
    return std::unique_lock(mutex_);
  }

  std::mutex mutex_;
  pool_trace* live_ = nullptr;
  std::array<pool_trace, 64> dead_{};
  std::size_t next_dead_ = 0;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one registry
constinit pool_registry checked_pools;

}  // namespace

void register_checked(pool_trace& pool) noexcept {
  checked_pools.add(pool);
}

void unregister_checked(pool_trace& pool) noexcept {
  checked_pools.remove(pool);
}

pool_trace find_checked(const void* pool) noexcept {
  return checked_pools.find([pool](const pool_trace& one) { return one.pool == pool; });
}

pool_trace find_owner(const void* object) noexcept {
  return checked_pools.find([object](const pool_trace& one) { return contains(one, object); });
}

}  // namespace lido::detail
