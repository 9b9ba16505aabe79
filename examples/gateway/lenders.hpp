/// @file
/// Ways for a request to get a connection. Each has `with(f)`, which calls `f(connection)` and
/// returns its result; `awaited` passes it on.
#pragma once

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lido/asio.hpp"
#include "lido/resource_pool.hpp"

namespace gateway {

inline lido::create_context soon() {
  return {std::chrono::steady_clock::now() + std::chrono::seconds(30), {}};
}

/// Makes connections before the clients come.
template <class R>
void make_ahead(lido::resource_pool<R>& pool, unsigned connections) {
  std::vector<lido::resource_lease<R>> all;
  while (all.size() < connections) {
    all.push_back(pool.acquire());
  }
}

// [snippet]
/// A pool of Lido.
template <class Backend>
class pooled {
 public:
  pooled(Backend& backend, unsigned connections)
      : pool_(backend.factory(), {.max_size = connections, .name = "backend"}) {
    make_ahead(pool_, connections);
  }

  template <class F>
  auto with(const F& f) {
    const auto lease = pool_.acquire();  // discarded if f throws: its state is unknown then
    return f(*lease);
  }

 private:
  lido::resource_pool<typename Backend::connection> pool_;
};
// [/snippet]

/// Uses the same pool for more requests than connections: they wait in its queue, and no thread
/// waits.
template <class Backend>
class awaited {
 public:
  using result = lido::acquire_result<typename Backend::connection>;

  awaited(Backend& backend, unsigned connections)
      : pool_(backend.factory(), {.max_size = connections, .name = "backend"}) {
    make_ahead(pool_, connections);  // so that only waits for one another count
    waits_before_ = pool_.stats().exhausted;
  }

  /// Calls `reply(text)` in a thread of `context` with the result of f, or an error message.
  template <class F, class Reply>
  void with(boost::asio::io_context& context, F f, Reply reply) {
    const auto then = [f = std::move(f), reply = std::move(reply)](result got) {
      std::string text;
      auto& connection = got.lease();
      try {
        text = connection ? f(*connection) : throw got.error();
        connection.reset();  // before the client is answered
      } catch (const std::exception& problem) {
        connection.discard();  // has no effect if it is empty
        text = std::string("ERROR ") + problem.what();
      }
      reply(std::move(text));
    };
    lido::async_try_acquire(pool_, std::chrono::seconds(5),
                            boost::asio::bind_executor(context, then));
  }

  /// Returns how many requests had to wait.
  [[nodiscard]] std::uint64_t waits() const { return pool_.stats().exhausted - waits_before_; }

 private:
  lido::resource_pool<typename Backend::connection> pool_;
  std::uint64_t waits_before_ = 0;
};

template <class Lender>
concept hands_on = requires(const Lender& lender) {
  lender.waits();
};

/// The ideal: each thread has its own connection, and nothing is lent. They are made ahead like
/// those of the pools: with PostgreSQL it matters which thread makes a connection, and when.
template <class Backend>
class owned {
 public:
  owned(Backend& backend, unsigned connections) {
    auto factory = backend.factory();
    while (all_.size() < connections) {
      all_.push_back(factory.create(soon()));
    }
  }

  /// Uses the thread's connection. Requires: no more threads than connections.
  template <class F>
  auto with(const F& f) {
    thread_local typename Backend::connection* const own = &all_.at(next_++);
    return f(*own);
  }

 private:
  std::deque<typename Backend::connection> all_;
  std::atomic<std::size_t> next_{0};
};

/// Connects for each request: the way without a pool, and without Lido.
template <class Backend>
class connected_each_time {
 public:
  connected_each_time(Backend& backend, unsigned /*connections*/) : backend_(backend) {}

  template <class F>
  auto with(const F& f) {
    auto connection = backend_.connect();
    return f(connection);
  }

 private:
  Backend& backend_;
};

/// A pool written in an afternoon: no validation, no ages, no deadlines.
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
