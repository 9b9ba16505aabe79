/// @file
/// Waiters for the only resource of a pool, which wait in different ways.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include "support/fake_server.hpp"

namespace lido::test {

/// A coroutine for which no caller waits.
struct detached {
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's
    static detached get_return_object() { return {}; }
    static std::suspend_never initial_suspend() { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    static void unhandled_exception() { std::terminate(); }
  };
};

/// Awaits a resource, and calls `serve` with it. Not inline: Clang 14 with its sanitizer of
/// function types cannot compile an inline coroutine.
detached await_resource(fake_pool& pool, std::chrono::seconds patience,
                        std::function<void(fake_lease)> serve);

enum class way_to_wait { thread, callback, coroutine };

inline void PrintTo(way_to_wait way, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << (way == way_to_wait::thread     ? "thread"
           : way == way_to_wait::callback ? "callback"
                                          : "coroutine");
}

/// A queue in a known order: no waiter joins it before the previous waiter is in the queue.
///
/// Each waiter notes that it was served while it holds the resource. There is only one resource, so
/// the notes are in the order of service.
class customers {
 public:
  /// Requires: `pool` has one resource, which is in use.
  explicit customers(fake_pool& pool, bool discard = false) : pool_(pool), discard_(discard) {}

  /// Adds a waiter: `wait(serve)` starts to wait, and calls `serve(lease)` once it has a lease.
  template <class Wait>
  void join(const Wait& wait) {
    const std::size_t waiting = pool_.stats().waiting;
    wait([this, place = joined_++](fake_lease lease) { serve(place, lease); });
    EXPECT_TRUE(eventually([&] { return pool_.stats().waiting == waiting + 1; }));
  }

  void join(way_to_wait way) {
    join([&](auto serve) {
      if (way == way_to_wait::thread) {
        threads_.emplace_back([this, serve] { serve(pool_.acquire_for(patience)); });
      } else if (way == way_to_wait::callback) {
        pool_.async_acquire(
            [serve](acquire_result<connection> got) { serve(std::move(got.lease())); }, patience);
      } else {
        await_resource(pool_, patience, serve);
      }
    });
  }

  /// Returns positions in the queue, in the order of service, once all waiters have been served.
  [[nodiscard]] std::vector<int> served() {
    const auto all_served = [this] {
      const std::lock_guard guard(mutex_);
      return served_.size() == static_cast<std::size_t>(joined_);
    };
    EXPECT_TRUE(eventually(all_served));
    const std::lock_guard guard(mutex_);
    return served_;
  }
  /// Returns positions in the queue, in the order of arrival.
  [[nodiscard]] std::vector<int> joined() const {
    std::vector<int> places(static_cast<std::size_t>(joined_));
    std::iota(places.begin(), places.end(), 0);
    return places;
  }

 private:
  static constexpr std::chrono::seconds patience{20};

  void serve(int place, fake_lease& lease) {
    EXPECT_TRUE(lease);
    const bool discard = discard_;
    {
      const std::lock_guard guard(mutex_);
      served_.push_back(place);
    }
    // From here on, the test may already have ended, if it has seen the last note.
    if (discard) {
      lease.discard();
    }
  }

  fake_pool& pool_;
  const bool discard_;
  int joined_ = 0;
  std::mutex mutex_;
  std::vector<int> served_;
  std::vector<std::jthread> threads_;  // last: joined before the other members are destroyed
};

}  // namespace lido::test
