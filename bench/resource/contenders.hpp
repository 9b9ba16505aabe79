/// @file
/// Resource pools for lido_bench_resource: Lido's, and what one would write or use instead.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "lido/resource_pool.hpp"

#if LIDO_BENCH_TBB
#include <tbb/concurrent_queue.h>
#endif

namespace lido_bench {

using bench_clock = std::chrono::steady_clock;

/// The pooled resource: as cheap as possible, so that the pools are measured.
struct stub_connection {
  int queries = 0;
};

/// Lido with all checks: age, idle time, and which thread holds which resource since when.
class lido_resources {
 public:
  static constexpr std::string_view name = "lido";
  static constexpr bool sleeps = true;
  explicit lido_resources(std::size_t size, lido::maintenance by = lido::maintenance::background)
      : pool_([] { return stub_connection(); },
              {.max_size = size, .min_idle = size, .max_creating = size, .maintenance = by}) {
    std::vector<lido::resource_lease<stub_connection>> all;
    for (std::size_t i = 0; i < size; ++i) {
      all.push_back(pool_.acquire());
    }
  }

  template <class Use>
  void with_one(const Use& use) {
    const auto lease = pool_.acquire();
    use(*lease);
  }

 private:
  lido::resource_pool<stub_connection> pool_;
};

/// Lido without its own thread.
class lido_by_tick : public lido_resources {
 public:
  static constexpr std::string_view name = "lido_by_tick";
  explicit lido_by_tick(std::size_t size) : lido_resources(size, lido::maintenance::by_tick) {}
};

/// Not a pool, but the minimum that serves threads in FIFO order and lets them sleep: each use
/// draws a number and waits until that number is called. It checks nothing, and no thread can give
/// up. If it takes longer with a thousand threads than with sixteen, the system spends the
/// difference on switching between them.
class numbers_in_turn {
 public:
  static constexpr std::string_view name = "floor_in_turn";
  static constexpr bool sleeps = true;
  explicit numbers_in_turn(std::size_t size) : all_(size), turns_(most_threads) {
    for (stub_connection& one : all_) {
      call_next(one);
    }
  }

  template <class Use>
  void with_one(const Use& use) {
    const std::uint64_t number = drawn_.fetch_add(1);
    const std::uint32_t lap = lap_of(number);
    turn& mine = turn_of(number);
    std::uint32_t before = lap;
    if (mine.state.compare_exchange_strong(before, lap + asleep)) {
      while (mine.state.load() != lap + called) {
        syscall(SYS_futex, &mine.state, FUTEX_WAIT_PRIVATE, lap + asleep, nullptr, nullptr, 0);
      }
    }
    stub_connection& one = *mine.connection;
    mine.state.store(lap_of(number + most_threads));
    use(one);
    call_next(one);
  }

 private:
  static constexpr std::size_t most_threads = 16'384;
  static constexpr std::uint32_t asleep = 1;
  static constexpr std::uint32_t called = 2;
  struct alignas(64) turn {
    std::atomic<std::uint32_t> state{0};  ///< the lap, and one of the two above
    stub_connection* connection = nullptr;
  };

  static std::uint32_t lap_of(std::uint64_t number) {
    return static_cast<std::uint32_t>(number / most_threads) * 4;
  }

  /// Waits until the entry is free for this number: the thread that used it a lap ago may not have
  /// run since.
  turn& turn_of(std::uint64_t number) {
    turn& found = turns_[number % most_threads];
    while (found.state.load() / 4 != lap_of(number) / 4) {
      std::this_thread::yield();
    }
    return found;
  }

  void call_next(stub_connection& one) {
    const std::uint64_t number = called_.fetch_add(1);
    turn& next = turn_of(number);
    next.connection = &one;
    if (next.state.exchange(lap_of(number) + called) == lap_of(number) + asleep) {
      syscall(SYS_futex, &next.state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

  std::vector<stub_connection> all_;
  std::vector<turn> turns_;
  alignas(64) std::atomic<std::uint64_t> drawn_{0};
  alignas(64) std::atomic<std::uint64_t> called_{0};
};

/// The minimum that can be called a pool: no checks at all, and a thread that finds it empty
/// yields.
class bare_mutex {
 public:
  static constexpr std::string_view name = "mutex_vector";
  static constexpr bool sleeps = false;
  explicit bare_mutex(std::size_t size) : all_(size) {
    for (stub_connection& one : all_) {
      idle_.push_back(&one);
    }
  }

  template <class Use>
  void with_one(const Use& use) {
    stub_connection* const one = take();
    use(*one);
    const std::lock_guard lock(mutex_);
    idle_.push_back(one);
  }

 private:
  stub_connection* take() {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
          stub_connection* const one = idle_.back();
          idle_.pop_back();
          return one;
        }
      }
      std::this_thread::yield();
    }
  }

  std::mutex mutex_;
  std::vector<stub_connection> all_;
  std::vector<stub_connection*> idle_;
};

/// A new pool of four, with shared threads or none.
template <bool ByTick = false>
class lido_small {
 public:
  lido_small()
      : pool_(
            [] { return stub_connection(); },
            {.max_size = 4,
             .maintenance = ByTick ? lido::maintenance::by_tick : lido::maintenance::background}) {}
  template <class Use>
  void with_one(const Use& use) {
    const auto lease = pool_.acquire();
    use(*lease);
  }

 private:
  lido::resource_pool<stub_connection> pool_;
};

/// The pool of most code bases: mutex, deque, condition variable, and the time of the last use.
class mutex_condition {
 public:
  static constexpr std::string_view name = "mutex_deque_cv";
  static constexpr bool sleeps = true;
  explicit mutex_condition(std::size_t size) : all_(size) {
    for (stub_connection& one : all_) {
      idle_.push_back({&one, bench_clock::now()});
    }
  }

  template <class Use>
  void with_one(const Use& use) {
    stub_connection* one = nullptr;
    {
      std::unique_lock lock(mutex_);
      if (!freed_.wait_for(lock, std::chrono::seconds(30), [&] { return !idle_.empty(); })) {
        return;
      }
      one = idle_.back().connection;
      idle_.pop_back();
    }
    use(*one);
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back({one, bench_clock::now()});
    }
    freed_.notify_one();
  }

 private:
  struct entry {
    stub_connection* connection;
    bench_clock::time_point since;
  };
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<stub_connection> all_;
  std::deque<entry> idle_;
};

struct mutex_small : mutex_condition {
  mutex_small() : mutex_condition(4) {}
};

#if LIDO_BENCH_TBB
/// Waits, but without a time-out.
class tbb_bounded {
 public:
  static constexpr std::string_view name = "tbb_bounded_queue";
  static constexpr bool sleeps = true;
  explicit tbb_bounded(std::size_t size) : all_(size) {
    for (stub_connection& one : all_) {
      idle_.push(&one);
    }
  }

  template <class Use>
  void with_one(const Use& use) {
    stub_connection* one = nullptr;
    idle_.pop(one);
    use(*one);
    idle_.push(one);
  }

 private:
  std::vector<stub_connection> all_;
  tbb::concurrent_bounded_queue<stub_connection*> idle_;
};
#endif

}  // namespace lido_bench
