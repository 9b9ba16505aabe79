/// Tries to break: every wait ends exactly once, with a resource or with the right error, and no
/// resource is lost. This holds for waiters of every kind, and during any other event.
///
/// Coroutines, handlers, futures and threads wait in one queue, on a pool of threads. During each
/// wait another thread releases a resource, requests a stop, or signals the operation's slot.
#include <fmt/core.h>

#include <chrono>
#include <coroutine>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/driver.hpp"
#include "one_wait.hpp"
#if defined(LIDO_STRESS_SLOTS)
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#endif
#if defined(LIDO_STRESS_RACES)
#include <asio/experimental/awaitable_operators.hpp>
#endif

namespace {

using namespace std::chrono_literals;
namespace net = lido::detail_asio::net;
using waits::lease_type;
using waits::limits;
using waits::pool_type;
using waits::spin;
using waits::way;
using waits::world;

struct settings : stress::driver {
  settings() : driver("each_wait_ends_once") {}

  const unsigned& size = option("--size", 3, "resources");
  const unsigned& pool_threads = option("--pool-threads", 4, "that run handlers and coroutines");
  const unsigned& mode = option("--mode", 0, "0: background, 1: by tick");
  const unsigned& faults = option("--faults", 16, "one create in so many fails; 0: none");
  // So long that a wait which exceeds it was forgotten.
  const unsigned& patience =
      option("--patience", 60, "seconds after which a wait has been forgotten");
};

using wait_pointer = std::shared_ptr<waits::wait>;

/// A coroutine that starts at once, and that no other coroutine awaits.
struct detached {
  // NOLINTBEGIN(readability-identifier-naming,readability-convert-member-functions-to-static): the
  // language's names
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() { std::terminate(); }
  };
  // NOLINTEND(readability-identifier-naming,readability-convert-member-functions-to-static)
};

detached in_coroutine(pool_type& pool, wait_pointer mine, std::stop_token stop) {
  lease_type lease;
  std::optional<lido::acquire_error> error;
  try {
    lease = co_await pool.co_acquire(mine->time(), std::move(stop));
  } catch (const lido::acquire_error& why) {
    error = why;
  }
  if (error) {
    mine->end(*error);
  } else {
    mine->end_with(std::move(lease));
  }
}

auto handler_of(wait_pointer mine) {
  return [mine = std::move(mine)](lido::asio_error_code error, lease_type lease) {
    mine->end(error, std::move(lease));
  };
}

#if defined(LIDO_TEST_ASIO_COROUTINES)
net::awaitable<void> in_awaitable(pool_type& pool, wait_pointer mine, std::stop_token stop) {
  mine->end(
      co_await lido::async_try_acquire(pool, mine->time(), net::use_awaitable, std::move(stop)));
}
#endif

#if defined(LIDO_STRESS_RACES)
/// Waits with a timer as timeout: the first of the two to end cancels the other.
net::awaitable<void> in_race(pool_type& pool, wait_pointer mine) {
  using namespace net::experimental::awaitable_operators;
  net::steady_timer timer(co_await net::this_coro::executor, mine->time());
  auto first = co_await (lido::async_acquire(pool, 1000s, net::use_awaitable) ||
                         timer.async_wait(net::use_awaitable));
  if (first.index() == 0) {
    mine->end_with(std::move(std::get<0>(first)));
  } else {
    mine->end_without(lido::acquire_failure::timed_out);
  }
}
#endif

class worker {
 public:
  worker(world& of, pool_type& pool, unsigned me, const settings& settings)
      : of_(of), pool_(pool), patience_(settings.patience), random_(of.run.generator(me)) {}

  void work() {
    std::uint64_t operations = 0;
    for (; !of_.run.over(); ++operations) {
      while (of_.begun - of_.ended > most_at_once) {
        std::this_thread::yield();
      }
      step();
    }
    of_.run.add_operations(operations);
  }

 private:
  static constexpr unsigned most_at_once = 64;

  /// Begins a wait, and at about the same moment releases a resource and stops the wait.
  void step() {
    const way how = waits::ways.at(random_() % waits::ways.size());
    const limits within = draw_limits(how);
    const auto mine = std::make_shared<waits::wait>(of_, how, within);
    lease_type held = pool_.try_acquire();
    if (how == way::thread || how == way::future) {  // these block
      net::post(of_.threads,
                [moved = std::exchange(held, {}), turns = draw_turns()] { spin(turns); });
    }
    begin(how, mine, within);
    spin(draw_turns());
    held.reset();
  }

  unsigned draw_turns() { return static_cast<unsigned>(random_() % 500); }

  limits draw_limits(way how) {
    const auto draw = random_() % 4;
    if (draw == 0 || how == way::race) {
      return {.time = std::chrono::microseconds(random_() % 300), .is_brief = true};
    }
    return {.time = patience_, .is_stopped = draw == 1};
  }

  /// Returns a token. If the wait is to be stopped, another thread requests the stop.
  std::stop_token stop_of(const limits& within) {
    std::stop_source stop;
    if (within.is_stopped) {
      net::post(of_.threads, [stop, turns = draw_turns()]() mutable {
        spin(turns);
        stop.request_stop();
      });
    }
    return stop.get_token();
  }

  void begin(way how, const wait_pointer& mine, const limits& within) {
    switch (how) {
      case way::thread:
        in_thread(mine, stop_of(within));
        break;
      case way::callback:
        pool_.async_acquire([mine](waits::result_type got) { mine->end(std::move(got)); },
                            mine->time(), stop_of(within));
        break;
      case way::coroutine:
        in_coroutine(pool_, mine, stop_of(within));
        break;
      case way::handler:
        lido::async_acquire(pool_, mine->time(), net::bind_executor(of_.threads, handler_of(mine)),
                            stop_of(within));
        break;
      case way::future:
        in_future(mine, stop_of(within));
        break;
      default:
        begin_on_strand(how, mine, within);
    }
  }

  void in_thread(const wait_pointer& mine, const std::stop_token& stop) {
    mine->end(pool_.try_acquire_for(mine->time(), stop));
  }

  /// Asks for a result, not an exception. Two threads would share the exception, and
  /// ThreadSanitizer does not see the standard library's reference count.
  void in_future(const wait_pointer& mine, const std::stop_token& stop) {
    mine->end(lido::async_try_acquire(pool_, mine->time(), net::use_future, stop).get());
  }

  /// Begins a wait in a strand, since signals must not overlap with the operation of their slot.
  void begin_on_strand([[maybe_unused]] way how, [[maybe_unused]] const wait_pointer& mine,
                       [[maybe_unused]] const limits& within) {
#if defined(LIDO_STRESS_SLOTS)
    if (how == way::slot) {
      in_slot(mine, within);
    }
#endif
#if defined(LIDO_TEST_ASIO_COROUTINES)
    if (how == way::awaitable) {
      net::co_spawn(of_.threads, in_awaitable(pool_, mine, stop_of(within)), net::detached);
    }
#endif
#if defined(LIDO_STRESS_RACES)
    if (how == way::race) {
      net::co_spawn(net::make_strand(of_.threads), in_race(pool_, mine), net::detached);
    }
#endif
  }

#if defined(LIDO_STRESS_SLOTS)
  void in_slot(const wait_pointer& mine, const limits& within) {
    const auto strand = net::make_strand(of_.threads);
    const auto signal = std::make_shared<net::cancellation_signal>();
    net::post(strand, [&pool = pool_, strand, signal, mine] {
      auto keeper = [signal, done = handler_of(mine)](lido::asio_error_code error,
                                                      lease_type lease) {
        done(error, std::move(lease));
      };
      lido::async_acquire(
          pool, mine->time(),
          net::bind_cancellation_slot(signal->slot(), net::bind_executor(strand, keeper)));
    });
    if (within.is_stopped) {
      net::post(of_.threads, [strand, signal, turns = draw_turns()] {
        spin(turns);
        net::post(strand, [signal] { signal->emit(net::cancellation_type::total); });
      });
    }
  }
#endif

  world& of_;
  pool_type& pool_;
  std::chrono::seconds patience_;
  stress::random random_;
};

/// Runs the workers, and returns when all waits have ended.
void load(world& all, pool_type& pool, const settings& settings) {
  all.run.in_threads(all.run.options().threads,
                     [&](unsigned thread) { worker(all, pool, thread, settings).work(); });
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(settings.patience);
  while (all.ended != all.begun) {
    if (std::chrono::steady_clock::now() > patience) {
      all.run.broken(std::to_string(all.begun - all.ended) + " waits have not ended");
    }
    std::this_thread::sleep_for(1ms);
  }
}

/// Checks that all resources can be acquired at once, and that nothing is left after the close.
void check_end(const stress::run& run, pool_type& pool, const settings& settings) {
  std::vector<lease_type> everything;
  try {
    while (everything.size() < settings.size) {
      everything.push_back(pool.acquire_for(std::chrono::seconds(settings.patience)));
    }
  } catch (const lido::acquire_error& error) {
    run.broken(std::string("lost: ") + error.what());
  }
  everything.clear();
  if (!pool.close(30s).complete() || pool.stats().live != 0 || pool.stats().waiting != 0) {
    run.broken("something is left");
  }
}

void print(const world& all) {
  fmt::print("timed out {}, cancelled {}; served and not:", all.timed_out.load(),
             all.cancelled.load());
  for (const way one : waits::ways) {
    const auto index = static_cast<unsigned>(one);
    fmt::print(" {} {} {},", waits::names.at(index), all.served_by_way.at(index).load(),
               all.refused_by_way.at(index).load());
  }
  fmt::print("\n");
}

struct each_wait_ends_once : settings {
  void prepare(stress::run& run) override {
    threads_.emplace(pool_threads);
    all_.emplace(run, *threads_);
    // Leases move between threads here, so the pool cannot tell which thread holds what.
    pool_.emplace(
        waits::random_factory(faults, alive_),
        lido::resource_pool_options{.max_size = size,
                                    .retry_first = 1ms,
                                    .retry_longest = 2ms,
                                    .detect_hold_and_wait = false,
                                    .maintenance = static_cast<lido::maintenance>(mode % 2)});
    ticker_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pool_->tick();
        std::this_thread::sleep_for(500us);
      }
    });
  }
  void round(stress::run& /*run*/, unsigned /*number*/) override { ::load(*all_, *pool_, *this); }
  void check(stress::run& run) override {
    threads_->join();
    check_end(run, *pool_, *this);
    ticker_ = {};
    pool_.reset();
    print(*all_);
    if (alive_ != 0) {
      run.broken(std::to_string(alive_) + " resources were not destroyed");
    }
  }
  [[nodiscard]] std::string missing() const override {
    return all_->has_happened() ? "" : "not every kind of wait has ended well and badly";
  }

  std::atomic<int> alive_{0};
  std::optional<net::thread_pool> threads_;
  std::optional<world> all_;
  std::optional<pool_type> pool_;
  std::jthread ticker_;
};

}  // namespace

int main(int argc, char** argv) {
  return each_wait_ends_once().drive(argc, argv);
}
