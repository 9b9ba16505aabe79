/// @file
/// Four ways for a request to come by a connection. Each has `with(f)`, which calls `f(connection)`
/// and returns what that returns.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "lido/resource_pool.hpp"

namespace gateway {

inline lido::create_context soon() {
  return {std::chrono::steady_clock::now() + std::chrono::seconds(30), {}};
}

// [snippet]
/// A pool of Lido.
template <class Backend>
class pooled {
 public:
  pooled(Backend& backend, unsigned connections)
      : pool_(backend.factory(), {.max_size = connections, .name = "backend"}) {}

  template <class F>
  auto with(const F& f) {
    auto lease = pool_.acquire();
    try {
      return f(*lease);
    } catch (...) {
      lease.discard();  // who knows what state it is in
      throw;
    }
  }

 private:
  lido::resource_pool<typename Backend::connection> pool_;
};
// [/snippet]

/// The best that can be had: each thread has one of its own, and nothing is lent.
template <class Backend>
class owned {
 public:
  owned(Backend& backend, unsigned /*connections*/) : factory_(backend.factory()) {}

  template <class F>
  auto with(const F& f) {
    thread_local std::optional<typename Backend::connection> own;
    if (!own) {
      own.emplace(factory_.create(soon()));
    }
    return f(*own);
  }

 private:
  typename Backend::factory_type factory_;
};

/// What one does without a pool.
template <class Backend>
class connected_each_time {
 public:
  connected_each_time(Backend& backend, unsigned /*connections*/) : factory_(backend.factory()) {}

  template <class F>
  auto with(const F& f) {
    auto connection = factory_.create(soon());
    return f(connection);
  }

 private:
  typename Backend::factory_type factory_;
};

/// What one writes in an afternoon: no validation, no ages, no deadlines.
template <class Backend>
class mutex_and_deque {
 public:
  mutex_and_deque(Backend& backend, unsigned connections) {
    auto factory = backend.factory();
    for (unsigned i = 0; i < connections; ++i) {
      idle_.push_back(factory.create(soon()));
    }
  }

  template <class F>
  auto with(const F& f) {
    const lending lent(*this);
    return f(*lent.connection);
  }

 private:
  using connection_type = typename Backend::connection;

  struct lending {
    explicit lending(mutex_and_deque& from) : pool(from) {
      std::unique_lock lock(pool.mutex_);
      pool.returned_.wait(lock, [this] { return !pool.idle_.empty(); });
      connection.emplace(std::move(pool.idle_.back()));
      pool.idle_.pop_back();
    }
    lending(const lending&) = delete;
    lending& operator=(const lending&) = delete;
    ~lending() {
      const std::lock_guard lock(pool.mutex_);
      pool.idle_.push_back(std::move(*connection));
      pool.returned_.notify_one();
    }
    mutex_and_deque& pool;
    mutable std::optional<connection_type> connection;
  };

  std::mutex mutex_;
  std::condition_variable returned_;
  std::deque<connection_type> idle_;
};

}  // namespace gateway
