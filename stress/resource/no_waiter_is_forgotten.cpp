/// Tries to break: no resource has two users, none is lost, no waiter is forgotten.
///
/// There are more threads than resources. Factories fail at random, and waits are cancelled or time
/// out while they are served. There are callbacks and urgent acquires. One thread flushes, resizes
/// and suspends the pool, and kills leased resources.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/driver.hpp"
#include "harness/ledger.hpp"
#include "lido/resource_pool.hpp"

namespace {

using namespace std::chrono_literals;

struct settings : stress::driver {
  settings() : driver("no_waiter_is_forgotten") {}

  const unsigned& size = option("--size", 3, "resources");
  const unsigned& mode = option("--mode", 0, "0: background, 1: by tick");
  const unsigned& faults =
      option("--faults", 16, "one call of the factory in so many fails; 0: none");
  const unsigned& reserve = option("--reserve", 0, "resources for urgent acquires");
  const unsigned& resets = option("--resets", 1, "0: the factory has none");
  const unsigned& leave =
      option("--leave", 0, "1: all leave it to the pool to validate, before each use");
  // So long that a wait which exceeds it was forgotten.
  const unsigned& patience =
      option("--patience", 60, "seconds after which a wait has been forgotten");
};

/// A factory that fails one in `faults` calls, and counts the live resources.
class random_factory {
 public:
  explicit random_factory(unsigned faults) : faults_(faults) {}

  stress::owned create() {
    if (fails()) {
      throw std::runtime_error("no connection");
    }
    ++*alive_;
    return {};
  }
  bool validate(stress::owned& /*resource*/) { return !fails(); }
  bool reset(stress::owned& /*resource*/) { return !fails(); }
  void destroy(stress::owned& /*resource*/, lido::destroy_reason /*reason*/) noexcept { --*alive_; }

  [[nodiscard]] std::shared_ptr<std::atomic<int>> alive() const { return alive_; }

 private:
  [[nodiscard]] bool fails() const {
    return faults_ != 0 && ((*calls_)++ * 0x9E3779B9U >> 16U) % faults_ == 0;
  }

  unsigned faults_;
  std::shared_ptr<std::atomic<unsigned>> calls_ = std::make_shared<std::atomic<unsigned>>(1);
  std::shared_ptr<std::atomic<int>> alive_ = std::make_shared<std::atomic<int>>(0);
};

/// A factory without `reset`, so that a released resource becomes idle on the fast path.
class without_reset {
 public:
  explicit without_reset(random_factory all) : all_(std::move(all)) {}

  stress::owned create() { return all_.create(); }
  bool validate(stress::owned& resource) { return all_.validate(resource); }
  void destroy(stress::owned& resource, lido::destroy_reason reason) noexcept {
    all_.destroy(resource, reason);
  }

 private:
  random_factory all_;
};

using pool_type = lido::resource_pool<stress::owned>;
using lease_type = lido::resource_lease<stress::owned>;

struct totals {
  std::atomic<std::uint64_t> served{0}, timed_out{0}, cancelled{0}, callbacks{0}, called{0};
};

class worker {
 public:
  worker(stress::run& run, pool_type& pool, totals& totals, unsigned me,
         std::chrono::seconds patience)
      : run_(run),
        pool_(pool),
        totals_(totals),
        me_(me),
        patience_(patience),
        random_(run.generator(me)) {}

  void work() {
    std::uint64_t operations = 0;
    for (; !run_.over(); ++operations) {
      step();
    }
    run_.add_operations(operations);
  }

 private:
  void step() {
    switch (random_() % 8) {
      case 0:
        use(pool_.try_acquire());
        break;
      case 1:
        wait(std::chrono::microseconds(random_() % 300), {});
        break;
      case 2:
        cancelled_wait();
        break;
      case 3:
        by_callback();
        break;
      case 4:
        urgent_wait();
        break;
      default:
        wait(patience_, {});
    }
  }

  template <class Time>
  void wait(Time time, const std::stop_token& stop) {
    auto got = pool_.try_acquire_for(time, stop);
    if (got) {
      use(got.value());
      ++totals_.served;
      return;
    }
    if (got.failure() == lido::acquire_failure::timed_out && time >= patience_) {
      run_.broken(std::string("forgotten: ") + got.error().what());
    }
    count(got);
  }

  void urgent_wait() {
    try {
      use(pool_.acquire_urgent(patience_));
      ++totals_.served;
    } catch (const lido::acquire_error& error) {
      run_.broken(std::string("forgotten, though urgent: ") + error.what());
    }
  }

  /// Counts a failure. Any but these is wrong, since no thread that waits holds a resource.
  void count(const lido::acquire_result<stress::owned>& failed) {
    if (failed.failure() == lido::acquire_failure::timed_out) {
      ++totals_.timed_out;
    } else if (failed.failure() == lido::acquire_failure::cancelled) {
      ++totals_.cancelled;
    } else {
      run_.broken(std::string("refused: ") + failed.error().what());
    }
  }

  void cancelled_wait() {
    std::stop_source stop;
    std::thread canceller([&, delay = random_() % 100] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      stop.request_stop();
    });
    wait(patience_, stop.get_token());
    canceller.join();
  }

  void by_callback() {
    ++totals_.callbacks;
    // The callback may run after this worker has ended.
    pool_.async_acquire(
        [&run = run_, &pool = pool_, &totals = totals_,
         user = 1000 + me_](lido::acquire_result<stress::owned> got) {
          use_as(run, pool, std::move(got.lease()), user);
          ++totals.called;
        },
        std::chrono::microseconds(random_() % 1000));
  }

  void use(lease_type lease) { use_as(run_, pool_, std::move(lease), me_); }

  static void use_as(stress::run& run, pool_type& pool, lease_type lease, unsigned user) {
    if (lease) {
      stress::take(run, *lease, user);
      const auto choice = lease->uses % 16;
      stress::leave(run, *lease, user);
      if (choice == 0) {
        lease.discard();
      } else if (choice == 1) {
        (void)pool.kill(lease.handle());
      }
    }
  }

  stress::run& run_;
  pool_type& pool_;
  totals& totals_;
  unsigned me_;
  std::chrono::seconds patience_;
  stress::random random_;
};

/// Kills leased resources, each of which may by then be idle, in another lease, or destroyed.
void kill_what_is_lent(pool_type& pool) {
  for (int round = 0; round < 100; ++round) {
    for (const lido::lease_info& lent : pool.leases()) {
      (void)pool.kill(lent.resource);
    }
  }
}

/// Flushes, resizes, suspends and ticks the pool until the run is over.
void meddle(stress::run& run, pool_type& pool, unsigned size) {
  stress::random random = run.generator(0);
  while (!run.over()) {
    switch (random() % 7) {
      case 0:
        pool.flush();
        break;
      case 1:
        pool.resize(random() % (2UL * size));
        break;
      case 2:
        pool.suspend();
        std::this_thread::yield();
        pool.resume();
        break;
      case 3:
        (void)pool.stats();
        break;
      case 4:
        kill_what_is_lent(pool);
        break;
      default:
        pool.resize(size);
    }
    pool.tick();
    std::this_thread::sleep_for(200us);
  }
  pool.resize(size);
}

/// Runs the workers, the meddler, and a thread that ticks until all waiters are served.
void load(stress::run& run, pool_type& pool, totals& totals, const settings& settings) {
  const std::chrono::seconds patience(settings.patience);
  std::atomic<bool> done{false};
  std::thread ticker([&] {
    while (!done) {
      pool.tick();
      std::this_thread::sleep_for(500us);
    }
  });
  run.in_threads(run.options().threads + 1, [&](unsigned thread) {
    if (thread == 0) {
      meddle(run, pool, settings.size);
    } else {
      worker(run, pool, totals, thread, patience).work();
    }
  });
  std::vector<lease_type> all;
  try {
    while (all.size() < settings.size) {
      all.push_back(pool.acquire_for(patience));
    }
  } catch (const lido::acquire_error& error) {
    run.broken(std::string("lost: ") + error.what());
  }
  done = true;
  ticker.join();
}

void check_end(const stress::run& run, pool_type& pool, const totals& totals,
               std::chrono::seconds patience) {
  if (!pool.close(patience).complete()) {
    run.broken("something is left");
  }
  const lido::resource_pool_stats stats = pool.stats();
  if (stats.live != 0 || stats.waiting != 0 || totals.callbacks != totals.called) {
    run.broken(std::to_string(stats.live) + " resources and " + std::to_string(stats.waiting) +
               " waiters are left, " + std::to_string(totals.callbacks - totals.called) +
               " callbacks were not called");
  }
  fmt::print("served {}, timed out {}, cancelled {}, callbacks {}, created {}, failed {}\n",
             totals.served.load(), totals.timed_out.load(), totals.cancelled.load(),
             totals.callbacks.load(), stats.created, stats.create_failures);
}

template <class Factory>
void work_with(stress::run& run, const Factory& factory, const settings& settings) {
  totals totals;
  // A validation may take longer than any waiter waits.
  const std::chrono::seconds longest_answer(settings.leave != 0 ? 2 * settings.patience : 5);
  pool_type pool(factory, {.max_size = settings.size,
                           .reserve = settings.reserve,
                           .validate_timeout = longest_answer,
                           .validate_if_idle_longer_than = settings.leave != 0 ? 0ms : 1ms,
                           .retry_first = 1ms,
                           .retry_longest = 2ms,
                           .maintenance = static_cast<lido::maintenance>(settings.mode % 2)});
  load(run, pool, totals, settings);
  check_end(run, pool, totals, std::chrono::seconds(settings.patience));
}

struct no_waiter_is_forgotten : settings {
  void load(stress::run& run) override {
    const random_factory factory(faults);
    const auto alive = factory.alive();
    if (resets != 0) {
      work_with(run, factory, *this);
    } else {
      work_with(run, without_reset(factory), *this);
    }
    if (*alive != 0) {
      run.broken(std::to_string(*alive) + " resources were not destroyed");
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return no_waiter_is_forgotten().drive(argc, argv);
}
