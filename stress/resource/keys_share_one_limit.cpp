/// Tries to break: all keys together never have more resources than the total, and no key has more
/// than its own limit. No waiter waits while another key leaves capacity unused.
///
/// There are more threads than resources, and more keys than the total. Factories fail at random,
/// and waits are cancelled or time out while they are served. One thread ticks, flushes, and kills
/// leased resources.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "harness/driver.hpp"
#include "harness/ledger.hpp"
#include "lido/keyed_resource_pool.hpp"

namespace {

using namespace std::chrono_literals;

constexpr unsigned most_keys = 16;

struct settings : stress::driver {
  settings() : driver("keys_share_one_limit") {}

  const unsigned& total = option("--total", 3, "resources over all keys");
  const unsigned& each = option("--each", 2, "resources of one key");
  const unsigned& keys = option("--keys", 6, "keys, up to 16");
  const unsigned& faults =
      option("--faults", 16, "one call of the factory in so many fails; 0: none");
  const unsigned& ticks = option("--ticks", 1, "0: nobody calls tick");
  const unsigned& mode = option("--mode", 1, "0: background, 1: by tick");
  // So long that a wait which exceeds it was forgotten.
  const unsigned& patience =
      option("--patience", 60, "seconds after which a wait has been forgotten");
};

/// The resources that are alive, counted from before `create` until after `destroy`.
struct tally {
  std::atomic<unsigned> all{0};
  std::array<std::atomic<unsigned>, most_keys> of_key{};
  std::atomic<unsigned> calls{1};
  std::atomic<unsigned> moved{0};  ///< resources destroyed to make room for another key
};

struct keyed_resource : stress::owned {
  unsigned key;
};

class random_factory {
 public:
  random_factory(stress::run& run, const settings& settings, tally& count)
      : run_(&run), settings_(&settings), tally_(&count) {}

  keyed_resource create(const unsigned& key) {
    check(++tally_->all, settings_->total, "in total");
    check(++tally_->of_key.at(key), settings_->each, "of one key");
    if (fails()) {
      --tally_->of_key.at(key);
      --tally_->all;
      throw std::runtime_error("no connection");
    }
    return {{}, key};
  }
  bool validate(keyed_resource& /*resource*/) { return !fails(); }
  bool reset(keyed_resource& /*resource*/) { return !fails(); }
  void destroy(keyed_resource& resource, lido::destroy_reason reason) noexcept {
    std::this_thread::yield();
    tally_->moved += reason == lido::destroy_reason::surplus ? 1 : 0;
    --tally_->of_key.at(resource.key);
    --tally_->all;
  }

 private:
  void check(unsigned count, unsigned limit, const char* where) {
    if (count > limit) {
      run_->broken(std::to_string(count) + " resources " + where);
    }
  }
  [[nodiscard]] bool fails() {
    return settings_->faults != 0 &&
           (tally_->calls++ * 0x9E3779B9U >> 16U) % settings_->faults == 0;
  }

  stress::run* run_;
  const settings* settings_;
  tally* tally_;
};

using pool_type = lido::keyed_resource_pool<unsigned, keyed_resource>;
using lease_type = pool_type::lease_type;

struct totals {
  std::atomic<std::uint64_t> served{0}, timed_out{0}, cancelled{0}, callbacks{0}, called{0};
};

class worker {
 public:
  worker(stress::run& run, pool_type& pool, totals& totals, const settings& settings, unsigned me)
      : run_(run),
        pool_(pool),
        totals_(totals),
        settings_(settings),
        me_(me),
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
    const auto key = static_cast<unsigned>(random_() % settings_.keys);
    switch (random_() % 8) {
      case 0:
        use(pool_.at(key).try_acquire(), key);
        break;
      case 1:
        wait(key, std::chrono::microseconds(random_() % 300), {});
        break;
      case 2:
        cancelled_wait(key);
        break;
      case 3:
        if (settings_.ticks != 0) {  // callbacks need ticks
          by_callback(key);
        }
        break;
      default:
        wait(key, std::chrono::seconds(settings_.patience), {});
    }
  }

  template <class Time>
  void wait(unsigned key, Time time, const std::stop_token& stop) {
    auto got = pool_.at(key).try_acquire_for(time, stop);
    if (got) {
      use(got.value(), key);
      ++totals_.served;
    } else if (got.failure() == lido::acquire_failure::cancelled) {
      ++totals_.cancelled;
    } else if (got.failure() != lido::acquire_failure::timed_out) {
      run_.broken(std::string("refused: ") + got.error().what());
    } else if (time >= std::chrono::seconds(settings_.patience)) {
      run_.broken(std::string("forgotten: ") + got.error().what());
    } else {
      ++totals_.timed_out;
    }
  }

  /// Acquires by a callback, which may run after this worker has ended.
  void by_callback(unsigned key) {
    ++totals_.callbacks;
    pool_.at(key).async_acquire(
        [&run = run_, &totals = totals_, user = 1000 + me_,
         key](lido::acquire_result<keyed_resource> got) {
          if (got) {
            take(run, *got, user, key);
            stress::leave(run, *got, user);
          }
          ++totals.called;
        },
        std::chrono::microseconds(random_() % 1000));
  }

  void cancelled_wait(unsigned key) {
    std::stop_source stop;
    std::thread canceller([&, delay = random_() % 100] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      stop.request_stop();
    });
    wait(key, std::chrono::seconds(settings_.patience), stop.get_token());
    canceller.join();
  }

  void use(lease_type lease, unsigned key) {
    if (!lease) {
      return;
    }
    take(run_, *lease, me_, key);
    const auto choice = random_() % 16;
    stress::leave(run_, *lease, me_);
    if (choice == 0) {
      lease.discard();
    } else if (choice == 1) {
      (void)pool_.kill(lease.handle());
    }
  }

  static void take(stress::run& run, keyed_resource& resource, unsigned user, unsigned key) {
    stress::take(run, resource, user);
    if (resource.key != key) {
      run.broken("a resource of another key");
    }
  }

  stress::run& run_;
  pool_type& pool_;
  totals& totals_;
  const settings& settings_;
  unsigned me_;
  stress::random random_;
};

/// Ticks, flushes and kills until the workers have ended.
void meddle(stress::run& run, pool_type& pool, const settings& settings,
            const std::atomic<unsigned>& working) {
  stress::random random = run.generator(0);
  while (settings.ticks != 0 && working != 0) {
    pool.tick();
    if (run.over()) {
      std::this_thread::yield();
      continue;
    }
    if (random() % 4 == 0) {
      pool.at(static_cast<unsigned>(random() % settings.keys)).flush();
    } else if (random() % 4 == 0) {
      (void)pool.stats_by_key();
    } else if (random() % 4 == 0) {
      for (const lido::lease_info& lent : pool.leases()) {
        (void)pool.kill(lent.resource);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
  }
}

void check_end(const stress::run& run, pool_type& pool, const totals& totals, unsigned moved) {
  if (!pool.close(60s).complete() || totals.called != totals.callbacks) {
    run.broken("something is left");
  }
  const lido::keyed_resource_pool_stats stats = pool.stats();
  if (stats.waiting != 0 || stats.live != 0) {
    run.broken("the numbers of a pool that is empty are not zero");
  }
  fmt::print("served {}, timed out {}, cancelled {}, callbacks {}, moved {}\n",
             totals.served.load(), totals.timed_out.load(), totals.cancelled.load(),
             totals.callbacks.load(), moved);
}

struct keys_share_one_limit : settings {
  void prepare(stress::run& run) override {
    if (keys > most_keys) {
      run.vacuous("there are too many keys");
    }
    pool_.emplace(random_factory(run, *this, tally_),
                  lido::keyed_resource_pool_options{
                      .max_total = total,
                      .prefer_same_key_for = 1ms,
                      .each_key = {.max_size = each,
                                   .validate_if_idle_longer_than = 1ms,
                                   .retry_first = 1ms,
                                   .retry_longest = 2ms,
                                   .maintenance = static_cast<lido::maintenance>(mode % 2)}});
  }
  void round(stress::run& run, unsigned /*number*/) override {
    std::atomic<unsigned> working{threads()};
    run.in_threads(threads() + 1, [&](unsigned thread) {
      if (thread == 0) {
        meddle(run, *pool_, *this, working);
      } else {
        worker(run, *pool_, totals_, *this, thread).work();
        --working;
      }
    });
  }
  void check(stress::run& run) override {
    check_end(run, *pool_, totals_, tally_.moved);
    pool_.reset();
    if (tally_.all != 0) {
      run.broken(std::to_string(tally_.all) + " resources were not destroyed");
    }
  }
  [[nodiscard]] std::string missing() const override {
    return tally_.moved == 0 ? "no room went from one key to another" : "";
  }

  tally tally_;
  totals totals_;
  std::optional<pool_type> pool_;
};

}  // namespace

int main(int argc, char** argv) {
  return keys_share_one_limit().drive(argc, argv);
}
