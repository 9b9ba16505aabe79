// What a server with a pool answers to health checks. The header is part of an example, and not of
// Lido.
#pragma once

#include <atomic>
#include <lido/resource_pool.hpp>
#include <mutex>
#include <string>

// [snippet]
struct http_answer {
  int status;
  std::string text;
};

class health {
 public:
  /// Called by `on_event` of the pool, from any thread.
  void note(const lido::pool_event& event) {
    if (event.what == lido::pool_event::kind::create_failed) {
      const std::lock_guard lock(mutex_);
      last_error_ = event.text;
    }
  }
  [[nodiscard]] std::string last_error() const {
    const std::lock_guard lock(mutex_);
    return last_error_;
  }
  void begin_shutdown() { is_ending_ = true; }

  /// Answers "does the process need a restart?". No pool matters here.
  [[nodiscard]] static http_answer liveness() { return {200, "alive"}; }

  /// Answers "may requests come?". The pool keeps `min_idle` connections, at least one.
  [[nodiscard]] http_answer readiness(const lido::resource_pool_stats& db) const {
    if (is_ending_) {
      return {503, "shutting down"};
    }
    if (db.suspended) {
      return {503, "suspended"};
    }
    if (db.idle + db.in_use + db.checking == 0) {
      return {503, "no connection: " + last_error()};
    }
    return {200, std::to_string(db.in_use) + " in use, " + std::to_string(db.waiting) + " waiting"};
  }

 private:
  std::atomic<bool> is_ending_{false};
  mutable std::mutex mutex_;
  std::string last_error_;
};
// [/snippet]
