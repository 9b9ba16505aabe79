/// Prints what two pools of connections do in a burst and in a failover, as JSON. One pool is
/// Lido's. In the other, a caller that finds no idle connection opens one, as in most hand-written
/// pools.
///
/// The server is simulated: a connect takes 150 ms, a query 2 ms, and a server that is down refuses
/// a connect after 1 ms. Both pools have at most 20 connections, 5 of them from the start.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lido/resource_pool.hpp"

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t most_connections = 20;
constexpr std::size_t connections_at_start = 5;

/// The server, which can be down.
struct server {
  std::atomic<bool> up = true;
  std::atomic<unsigned> generation = 0;  ///< a restart breaks all earlier connections
  std::atomic<int> open = 0;             ///< connections, including those being opened
  std::atomic<unsigned> connects = 0;    ///< calls of connect so far
};

class connection {
 public:
  explicit connection(server& to) : to_(&to), generation_(to.generation) {
    ++to.connects;
    ++to.open;
    const bool answers = to.up;
    std::this_thread::sleep_for(answers ? 150ms : 1ms);
    if (!answers || !to.up) {
      --to.open;
      throw std::runtime_error("connection refused");
    }
  }
  connection(connection&& other) noexcept
      : to_(std::exchange(other.to_, nullptr)), generation_(other.generation_) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  connection& operator=(connection&&) = delete;
  ~connection() {
    if (to_ != nullptr) {
      --to_->open;
    }
  }

  void query() const {
    std::this_thread::sleep_for(2ms);
    if (!to_->up || generation_ != to_->generation) {
      throw std::runtime_error("connection reset");
    }
  }

 private:
  server* to_;
  unsigned generation_;
};

/// The hand-written pool: a mutex, a condition variable and a deque.
class pool_by_hand {
 public:
  explicit pool_by_hand(server& to) : to_(to) {
    for (std::size_t i = 0; i < connections_at_start; ++i) {
      idle_.emplace_back(to);
      ++live_;
    }
  }

  void use() {
    connection mine = take();
    try {
      mine.query();
    } catch (...) {
      leave();
      throw;
    }
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(mine));
    returned_.notify_one();
  }

 private:
  connection take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !idle_.empty() || live_ < most_connections; });
    if (!idle_.empty()) {
      connection first = std::move(idle_.front());
      idle_.pop_front();
      return first;
    }
    ++live_;
    lock.unlock();
    try {
      return connection(to_);
    } catch (...) {
      leave();
      throw;
    }
  }

  void leave() {
    const std::scoped_lock lock(mutex_);
    --live_;
    returned_.notify_one();
  }

  server& to_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::deque<connection> idle_;
  std::size_t live_ = 0;
};

class pool_of_lido {
 public:
  explicit pool_of_lido(server& to)
      : pool_([&to] { return connection(to); },
              {.max_size = most_connections, .min_idle = connections_at_start, .name = "story"}) {
    (void)pool_.wait_until_idle(connections_at_start, 10s);
  }

  void use() {
    pool_.with([](connection& mine) { mine.query(); });
  }

 private:
  lido::resource_pool<connection> pool_;
};

/// What was seen in the course of one run, in steps of equal length.
struct course {
  std::vector<int> open;           ///< connections at the end of each step
  std::vector<unsigned> connects;  ///< calls of connect in each step
  std::vector<unsigned> served;    ///< queries in each step
};

/// Samples the server until `end`.
course watch(const server& seen, const std::atomic<unsigned>& served, clock_type::duration step,
             clock_type::duration length) {
  course all;
  unsigned connects = seen.connects;
  unsigned before = served;
  for (auto next = clock_type::now() + step, end = clock_type::now() + length; next <= end;
       next += step) {
    std::this_thread::sleep_until(next);
    all.open.push_back(seen.open);
    all.connects.push_back(seen.connects - std::exchange(connects, seen.connects));
    all.served.push_back(served - std::exchange(before, served));
  }
  return all;
}

/// 50 threads ask for a connection at once, after 50 ms.
template <class Pool>
course burst() {
  server to;
  Pool pool(to);
  std::atomic<unsigned> served = 0;
  std::latch start(1);
  std::vector<std::thread> clients;
  for (int i = 0; i < 50; ++i) {
    clients.emplace_back([&] {
      start.wait();
      pool.use();
      ++served;
    });
  }
  std::thread starter([&] {
    std::this_thread::sleep_for(50ms);
    start.count_down();
  });
  course seen = watch(to, served, 2ms, 300ms);
  starter.join();
  for (std::thread& client : clients) {
    client.join();
  }
  return seen;
}

/// 20 threads query without a pause; the server is down from the first to the third second.
template <class Pool>
course failover() {
  server to;
  Pool pool(to);
  std::atomic<unsigned> served = 0;
  std::atomic<bool> end = false;
  std::vector<std::thread> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back([&] {
      while (!end) {
        try {
          pool.use();
          ++served;
        } catch (const std::exception&) {
          // The client tries again at once, as a server with many requests does.
        }
      }
    });
  }
  std::thread operator_of_server([&] {
    std::this_thread::sleep_for(1s);
    to.up = false;
    ++to.generation;
    std::this_thread::sleep_for(2s);
    to.up = true;
  });
  course seen = watch(to, served, 50ms, 5s);
  end = true;
  operator_of_server.join();
  for (std::thread& client : clients) {
    client.join();
  }
  return seen;
}

template <class Numbers>
void print(const char* name, const Numbers& values, const char* after) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s%lld", i == 0 ? "" : ", ", static_cast<long long>(values[i]));
  }
  std::printf("]%s", after);
}

void print(const char* scene, const char* pool, int step, const course& seen, const char* after) {
  std::printf("  {\"scene\": \"%s\", \"pool\": \"%s\", \"step_ms\": %d,\n   ", scene, pool, step);
  print("open", seen.open, ",\n   ");
  print("connects", seen.connects, ",\n   ");
  print("served", seen.served, "}");
  std::printf("%s\n", after);
}

}  // namespace

int main() {
  std::puts("[");
  print("burst", "by hand", 2, burst<pool_by_hand>(), ",");
  print("burst", "lido", 2, burst<pool_of_lido>(), ",");
  print("failover", "by hand", 50, failover<pool_by_hand>(), ",");
  print("failover", "lido", 50, failover<pool_of_lido>(), "");
  std::puts("]");
}
