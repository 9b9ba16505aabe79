/// Tries to break: no event in a backend, a waiter or the pool loses a resource or forgets a
/// waiter. Every wait ends in time, and the pool serves again as soon as it can.
///
/// Threads use a real server through one pool, with short deadlines and stop tokens. Thousands of
/// callbacks wait at the same time. One thread harms and heals the server, another changes the
/// pool.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "record.hpp"
#include "storm.hpp"
#include "subject.hpp"
#include "verdict.hpp"

namespace {

using namespace std::chrono_literals;
using chaos::clock;
using chaos::lease_type;
using chaos::record;
using chaos::settings;
using chaos::subject;

class asker {
 public:
  asker(stress::run& run, subject& of, record& all, const settings& settings, unsigned me)
      : run_(run),
        of_(of),
        all_(all),
        bound_(settings.bound),
        me_(me),
        random_(run.generator(me)) {}

  void work() {
    std::uint64_t operations = 0;
    for (; !run_.over(); ++operations) {
      const auto draw = random_() % 64;
      if (draw == 0) {
        storm();
      } else if (draw < 5) {
        stop_beside_service();
      } else {
        wait(std::chrono::microseconds(random_() % 100'000), {});
      }
    }
    run_.add_operations(operations);
  }

 private:
  void wait(std::chrono::microseconds time, const std::stop_token& stop) {
    const auto pool = of_.pool();
    const auto deadline = clock::now() + time;
    try {
      lease_type lease = (*pool)->acquire_until(deadline, stop);
      all_.note_end(deadline, bound_ + pool->slack());
      use(**pool, std::move(lease));
    } catch (const lido::acquire_error& error) {
      all_.note_end(deadline, bound_ + pool->slack());
      all_.note_refusal(error.cause());
      std::this_thread::yield();
    }
  }

  void use(chaos::pool_type& pool, lease_type lease) {
    const std::string word = std::to_string(me_) + "-" + std::to_string(++asked_);
    if ((*lease)->ask(word)) {
      ++all_.served;
    } else {
      ++all_.failed;
      lease.discard();
      return;
    }
    if (random_() % 16 == 0) {
      all_.kills += pool.kill(lease.handle()) ? 1 : 0;
    }
  }

  /// Stops dozens of waits at once, together with this thread if it waits by then.
  void storm() {
    const auto pool = of_.pool();
    chaos::storm storm(all_, bound_ + pool->slack());
    storm.gather(**pool);
    const std::jthread canceller = after_a_moment([&storm] { storm.stop(); });
    wait(50ms, storm.token());
  }

  /// Stops waits at about the moment at which they are served, which storms hardly ever do.
  void stop_beside_service() {
    std::stop_source stop;
    const std::jthread canceller = after_a_moment([&stop] { stop.request_stop(); });
    for (int i = 0; i < 8; ++i) {
      wait(50ms, stop.get_token());
    }
  }

  template <class F>
  [[nodiscard]] std::jthread after_a_moment(F act) {
    return std::jthread([act, delay = std::chrono::microseconds(random_() % 500)] {
      std::this_thread::sleep_for(delay);
      act();
    });
  }

  stress::run& run_;
  subject& of_;
  record& all_;
  std::chrono::milliseconds bound_;
  unsigned me_;
  stress::random random_;
  std::uint64_t asked_ = 0;
};

/// Lets thousands of callbacks wait at once, each for some milliseconds.
void crowd(stress::run& run, subject& of, record& all, const settings& settings) {
  stress::random random = run.generator(1000);
  while (!run.over()) {
    const auto pool = of.pool();
    const std::chrono::milliseconds bound =
        std::chrono::milliseconds(settings.bound) + pool->slack();
    for (unsigned i = 0; i < settings.crowd; ++i) {
      const auto time = std::chrono::microseconds(500 + random() % 15'000);
      const auto deadline = clock::now() + time;
      ++all.callbacks;
      (*pool)->async_acquire(
          [&all, deadline, bound](const chaos::result_type& /*got*/) {
            all.note_end(deadline, bound);
            ++all.called;
          },
          time);
    }
    record::raise(all.most_waiting, std::uint64_t{(*pool)->stats().waiting});
    std::this_thread::sleep_for(20ms);
  }
}

/// Makes waiters see a permanent failure. A pool refuses them only if no resource may come back, so
/// all resources are flushed, too.
void lock_out(subject& of, chaos::pool_type& pool, record& all) {
  of.lock_out(/*on=*/true);
  ++all.flushes;
  pool.flush();
  std::this_thread::sleep_for(5ms);
  of.lock_out(/*on=*/false);
}

void kill_what_others_have(chaos::pool_type& pool, record& all) {
  for (const lido::lease_info& lent : pool.leases()) {
    all.kills_of_others += pool.kill(lent.resource) ? 1 : 0;
  }
}

void pause(chaos::pool_type& pool, record& all) {
  ++all.suspends;
  pool.suspend();
  std::this_thread::sleep_for(2ms);
  pool.resume();
}

/// Waits until a request is served: if a connect takes long, a thread that meddles at its own pace
/// lets none through.
void wait_for_service(const record& all, clock::duration patience) {
  const auto end = clock::now() + patience;
  const std::uint64_t served = all.served;
  while (all.served < served + 16 && clock::now() < end) {
    std::this_thread::sleep_for(1ms);
  }
}

void meddle(stress::run& run, subject& of, record& all) {
  stress::random random = run.generator(1001);
  while (!run.over()) {
    const auto pool = of.pool();
    switch (random() % 9) {
      case 0:
        ++all.flushes;
        (*pool)->flush();
        break;
      case 1:
        pause(**pool, all);
        break;
      case 2:
        ++all.clock_jumps;
        of.time().jump(std::chrono::minutes(1 + random() % 59));
        break;
      case 3:
        lock_out(of, **pool, all);
        break;
      case 4:
        ++all.reopened;
        if (!of.reopen(/*again=*/true).complete()) {
          run.broken("something is left of a pool that was closed");
        }
        break;
      case 5:
        ++all.resizes;
        (*pool)->resize(of.size());
        break;
      case 6:
        kill_what_others_have(**pool, all);
        break;
      default:
        ++all.resizes;
        (*pool)->resize(random() % (2UL * of.size()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    wait_for_service(all, 100ms);
  }
}

/// Harms and heals the server, in the main thread, since a server ends with the thread that started
/// it. Records the time to recover only after faults that stop the service.
void harm(stress::run& run, chaos::backend& server, record& all, unsigned outage) {
  stress::random random = run.generator(1002);
  while (!run.over()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 100));
    const chaos::fault done = server.harm(random);
    all.note_fault(done.kind);
    const unsigned longest = random() % 8 == 0 ? outage : std::min(outage, 200U);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % longest));
    server.heal();
    const auto healed = clock::now();
    const std::uint64_t served = all.served;
    while (all.served == served && !run.over()) {
      std::this_thread::sleep_for(200us);
    }
    if (done.stops_service && all.served != served) {
      all.note_recovery(clock::now() - healed);
    }
  }
}

/// Asks again after a permanent failure of `create`, which loses no resource.
lease_type acquire_in_the_end(subject& of, record& all, clock::time_point patience) {
  for (;;) {
    try {
      return (*of.pool())->acquire_until(patience);
    } catch (const lido::acquire_error& error) {
      if (error.cause() != lido::acquire_failure::create_failed || clock::now() >= patience) {
        throw;
      }
      all.note_refusal(error.cause());
      std::this_thread::sleep_for(1ms);
    }
  }
}

/// Checks that with the server healed all resources can be acquired at once, and the close leaves
/// none.
void check_pool(const stress::run& run, subject& of, record& all) {
  const auto pool = of.pool();
  (*pool)->resize(of.size());
  std::vector<lease_type> leases;
  try {
    while (leases.size() < of.size()) {
      leases.push_back(acquire_in_the_end(of, all, clock::now() + 60s));
    }
  } catch (const lido::acquire_error& error) {
    run.broken(std::string("lost: ") + error.what());
  }
  leases.clear();
  if (!of.reopen(/*again=*/false).complete() || (*pool)->stats().waiting != 0) {
    run.broken("something is left of the last pool");
  }
  const auto patience = clock::now() + 60s;
  while (all.called != all.callbacks && clock::now() < patience) {
    std::this_thread::sleep_for(1ms);
  }
}

/// Counts once both ends of the last connection are closed.
chaos::belongings at_rest() {
  chaos::belongings last;
  for (int same = 0; same < 20; ++same) {
    std::this_thread::sleep_for(10ms);
    const chaos::belongings now;
    same = now.files == last.files && now.threads == last.threads ? same : 0;
    last = now;
  }
  return last;
}

struct chaos_driver : settings {
  void prepare(stress::run& run) override {
    // Made before the first count, which includes what the server has.
    server_ = redis != 0      ? chaos::make_redis()
              : postgres != 0 ? chaos::make_postgres()
                              : chaos::make_echo();
    if (server_ == nullptr) {
      run.vacuous(std::string(chaos::name_of_backend(*this)) + " is not installed");
    }
    // Client libraries keep things, and sanitizers start a thread with the first one: neither
    // leaks.
    (void)server_->connect({clock::now() + 5s, {}});
    all_.emplace();  // has a thread of its own
    before_ = at_rest();
    of_.emplace(chaos::random_factory(*server_, *all_, faults, sabotage != 0), size,
                run.generator(1003));
  }
  void round(stress::run& run, unsigned /*number*/) override {
    std::vector<std::jthread> crew;
    for (unsigned thread = 1; thread <= threads(); ++thread) {
      crew.emplace_back([&, thread] { asker(run, *of_, *all_, *this, thread).work(); });
    }
    crew.emplace_back([&] { ::crowd(run, *of_, *all_, *this); });
    crew.emplace_back([&] { meddle(run, *of_, *all_); });
    harm(run, *server_, *all_, outage);
  }
  void check(stress::run& run) override {
    check_pool(run, *of_, *all_);
    of_.reset();
    chaos::report(run, *all_, before_, *this);
  }
  [[nodiscard]] std::string missing() const override { return chaos::missing_in(*all_, *this); }

  std::unique_ptr<chaos::backend> server_;
  std::optional<record> all_;
  chaos::belongings before_;
  std::optional<subject> of_;
};

}  // namespace

int main(int argc, char** argv) {
  return chaos_driver().drive(argc, argv);
}
