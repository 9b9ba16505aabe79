/// @file
/// Threads that share connections to a real Redis, which the program starts itself: how many
/// commands a second, and how long one whole call takes. One line for each row; contenders take
/// turns.
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <vector>

#include "crowd.hpp"
#include "lido/hiredis.hpp"
#include "servers/known_servers.hpp"

namespace {

using namespace std::chrono_literals;
using lido_bench::crowd_turn;

lido::redis_factory factory_of(const servers::redis& server) {
  return lido::redis_factory({.port = server.port(), .password = servers::password});
}

lido::redis_connection connect(const servers::redis& server) {
  return factory_of(server).create({.deadline = std::chrono::steady_clock::now() + 5s, .stop = {}});
}

/// A client library's typical own pool: connections in a deque.
class deque_of_connections {
 public:
  static constexpr std::string_view name = "mutex_deque_cv";
  deque_of_connections(const servers::redis& server, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      idle_.push_back(connect(server));
    }
  }

  template <class Use>
  void with_one(const Use& use) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !idle_.empty(); });
    lido::redis_connection one = std::move(idle_.front());
    idle_.pop_front();
    lock.unlock();
    use(one);
    lock.lock();
    idle_.push_back(std::move(one));
    lock.unlock();
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::deque<lido::redis_connection> idle_;
};

/// Lido's pool with the given factory, full from the start.
template <class Factory>
class pool_of_connections {
 public:
  pool_of_connections(const Factory& factory, std::size_t size)
      : pool_(factory, {.max_size = size, .min_idle = size}) {
    if (!pool_.wait_until_idle(size, 10s)) {
      throw std::runtime_error("no connection to the server");
    }
  }

  template <class Use>
  void with_one(const Use& use) {
    const auto lease = pool_.acquire();
    use(*lease);
  }

 private:
  lido::resource_pool<lido::redis_connection> pool_;
};

/// Does the same work as the deque: connections are neither validated nor reset.
class plain_pool {
 public:
  static constexpr std::string_view name = "lido";
  plain_pool(const servers::redis& server, std::size_t size) : pool_(connector{&server}, size) {}
  template <class Use>
  void with_one(const Use& use) {
    pool_.with_one(use);
  }

 private:
  struct connector {
    const servers::redis* server;
    lido::redis_connection create(const lido::create_context& context) const {
      return factory_of(*server).create(context);
    }
  };
  pool_of_connections<connector> pool_;
};

/// Lido's pool with its own factory, which checks each connection when it is released.
class complete_pool {
 public:
  static constexpr std::string_view name = "lido, redis_factory";
  complete_pool(const servers::redis& server, std::size_t size) : pool_(factory_of(server), size) {}
  template <class Use>
  void with_one(const Use& use) {
    pool_.with_one(use);
  }

 private:
  pool_of_connections<lido::redis_factory> pool_;
};

struct row {
  std::string_view name;
  unsigned threads;
  std::size_t connections;
};
constexpr row rows[] = {{"8 on 4", 8, 4}, {"32 on 4", 32, 4}, {"32 on 16", 32, 16}};

struct plan {
  std::chrono::milliseconds length = 1000ms;
  int rounds = 5;
};

template <class Pool>
struct contender {
  const servers::redis& server;
  std::array<lido_bench::crowd_results, std::size(rows)> results = {};

  void round(const plan& todo) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      Pool pool(server, rows[i].connections);
      const auto call = [&] {
        pool.with_one([](lido::redis_connection& one) { (void)one.ask("PING"); });
      };
      const auto probe = [&] {
        const auto begin = lido_bench::bench_clock::now();
        call();
        return lido_bench::milliseconds_since(begin);
      };
      results[i].add(lido_bench::crowd(rows[i].threads, todo.length, call, probe));
    }
  }
  void print(std::size_t i) {
    std::printf("%-10s %-20s %10.1f %10.2f %10.2f %10.1f\n", rows[i].name.data(), Pool::name.data(),
                results[i].uses.median() / 1e3, results[i].wait(50), results[i].wait(99),
                results[i].spread.median());
  }
};

}  // namespace

int main(int argc, char** argv) try {
  plan todo;
  if (argc == 2 && std::string_view(argv[1]) == "--short") {
    todo = {.length = 50ms, .rounds = 1};
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: %s [--short]\n", argv[0]);
    return EXIT_FAILURE;
  }
  if (!servers::redis::program()) {
    std::puts("redis-server is not installed");
    return EXIT_SUCCESS;
  }
  const servers::redis server;
  contender<plain_pool> plain{server};
  contender<complete_pool> complete{server};
  contender<deque_of_connections> deque{server};
  lido_bench::take_turns(todo, plain, complete, deque);
  std::printf(
      "threads on connections; thousands of calls a second, medians of %d; milliseconds of\n"
      "one whole call beside them; spread: calls of the thread that had most, beside the\n"
      "one that had least\n%-10s %-20s %10s %10s %10s %10s\n",
      todo.rounds, "row", "pool", "calls", "p50", "p99", "spread");
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    plain.print(i);
    complete.print(i);
    deque.print(i);
    std::printf("%-10s lido / mutex_deque_cv: calls %.2f, p99 %.2f\n", rows[i].name.data(),
                plain.results[i].uses.median() / deque.results[i].uses.median(),
                plain.results[i].wait(99) / deque.results[i].wait(99));
  }
  return EXIT_SUCCESS;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return EXIT_FAILURE;
}
