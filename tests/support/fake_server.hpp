/// @file
/// A fictitious server, and connections to it, with which tests of resource pools provoke faults.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "lido/resource_pool.hpp"

namespace lido::test {

/// Controls the behaviour of connections, and counts them.
struct fake_server {
  std::atomic<int> next_id{1};
  std::atomic<int> creates{0};
  std::atomic<int> creating{0};
  std::atomic<int> most_alive{0};
  std::atomic<int> alive{0};
  std::atomic<int> validations{0};
  std::atomic<int> resets{0};
  std::array<std::atomic<int>, destroy_reasons> destroyed{};

  std::atomic<bool> down{false};            ///< create throws
  std::atomic<bool> wrong_password{false};  ///< create throws a permanent_failure
  std::atomic<bool> slow{false};            ///< create waits until this is false
  std::atomic<bool> slow_validate{false};
  std::atomic<bool> slow_destroy{false};
  std::atomic<bool> broken{false};        ///< validate returns false
  std::atomic<bool> refuse_reset{false};  ///< reset returns false

  [[nodiscard]] int destroyed_for(destroy_reason reason) const {
    return destroyed.at(static_cast<std::size_t>(reason));
  }
};

inline void wait_while(const std::atomic<bool>& held) {
  while (held) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Waits until `done()` is true. Gives up after a minute, which happens only in a failing test.
/// Returns whether `done()` was true.
template <class Done>
bool eventually(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Returns whether a wait mostly ends before the next check by a pool, which comes after a second.
/// `wait()` waits once and returns how long that took. On a busy machine, some waits take longer,
/// but seldom a quarter of them, and not in every attempt.
template <class Wait>
bool is_mostly_soon(const Wait& wait) {
  constexpr int waits = 20;
  constexpr int may_be_late = waits / 4;
  for (int attempt = 0; attempt < 5; ++attempt) {
    int late = 0;
    for (int i = 0; i < waits && late <= may_be_late; ++i) {
      late += wait() < std::chrono::milliseconds(500) ? 0 : 1;
    }
    if (late <= may_be_late) {
      return true;
    }
  }
  return false;
}

/// Helps factories whose resources fail validation just when a stop of the asking thread is
/// requested.
struct answers_no_and_stops {
  std::atomic<int>* asked;
  std::stop_source* stop;
  bool validate(int& /*idle*/) const {
    ++*asked;
    (void)stop->request_stop();
    return false;
  }
};

struct connection {
  int id = 0;
};

struct fake_factory {
  fake_server* server;

  [[nodiscard]] connection create(const create_context& /*context*/) const {
    ++server->creates;
    ++server->creating;
    wait_while(server->slow);
    --server->creating;
    if (server->wrong_password) {
      throw permanent_failure("wrong password");
    }
    if (server->down) {
      throw std::runtime_error("connection refused");
    }
    const int alive = ++server->alive;
    int most = server->most_alive;
    while (alive > most && !server->most_alive.compare_exchange_weak(most, alive)) {
    }
    return {.id = server->next_id++};
  }
  bool validate(connection& /*connection*/) const {
    ++server->validations;
    wait_while(server->slow_validate);
    return !server->broken;
  }
  bool reset(connection& /*connection*/) const {
    ++server->resets;
    return !server->refuse_reset;
  }
  void destroy(connection& /*connection*/, destroy_reason reason) const noexcept {
    wait_while(server->slow_destroy);
    --server->alive;
    ++server->destroyed.at(static_cast<std::size_t>(reason));
  }
};

/// A clock that advances only on request.
class manual_clock : public time_source {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::nanoseconds(now_.load());
  }
  void advance(std::chrono::nanoseconds by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_{1'000'000'000'000};
};

using fake_pool = resource_pool<connection>;
using fake_lease = resource_lease<connection>;

}  // namespace lido::test
