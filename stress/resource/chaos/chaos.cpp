/// Tries to break: whatever happens to a backend, to those who wait and to the pool itself, nothing
/// is lost, nobody is forgotten, every wait ends in time, and the pool serves again once it can.
///
/// Threads ask a real server through one pool, with short deadlines and stop tokens; others wait by
/// the thousand; one thread harms the server and heals it, one meddles with the pool.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "harness/report.hpp"
#include "harness/run.hpp"
#include "record.hpp"
#include "subject.hpp"

namespace {

using namespace std::chrono_literals;
using chaos::clock;
using chaos::lease_type;
using chaos::record;
using chaos::subject;

struct settings {
  stress::run_options run;
  unsigned redis = 0;
  unsigned postgres = 0;
  unsigned size = 6;
  unsigned crowd = 3000;
  unsigned faults = 16;
  unsigned bound = 500;
  unsigned sabotage = 0;
  unsigned outage = 200;
};

const char* name_of_backend(const settings& settings) {
  if (settings.redis != 0) {
    return "redis";
  }
  return settings.postgres != 0 ? "postgres" : "echo";
}

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
      if (random_() % 16 == 0) {
        storm();
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
    } catch (const lido::acquire_error&) {
      all_.note_end(deadline, bound_ + pool->slack());
      ++all_.refused;
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
    if (random_() % 64 == 0) {
      (void)pool.kill(lease.handle());
    }
  }

  /// Several that are told to stop at about the moment at which they are served.
  void storm() {
    std::stop_source stop;
    const auto delay = std::chrono::microseconds(random_() % 500);
    std::thread canceller([&stop, delay] {
      std::this_thread::sleep_for(delay);
      stop.request_stop();
    });
    for (int i = 0; i < 8; ++i) {
      wait(50ms, stop.get_token());
    }
    canceller.join();
  }

  stress::run& run_;
  subject& of_;
  record& all_;
  std::chrono::milliseconds bound_;
  unsigned me_;
  stress::random random_;
  std::uint64_t asked_ = 0;
};

/// Thousands that wait at once, for some milliseconds each.
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
          [&all, deadline, bound](const lease_type& /*lease*/,
                                  const std::exception_ptr& /*error*/) {
            all.note_end(deadline, bound);
            ++all.called;
          },
          time);
    }
    record::raise(all.most_waiting, std::uint64_t{(*pool)->stats().waiters});
    std::this_thread::sleep_for(20ms);
  }
}

void meddle(stress::run& run, subject& of, record& all) {
  stress::random random = run.generator(1001);
  while (!run.over()) {
    const auto pool = of.pool();
    switch (random() % 8) {
      case 0:
        (*pool)->flush();
        break;
      case 1:
        (*pool)->suspend();
        std::this_thread::sleep_for(2ms);
        (*pool)->resume();
        break;
      case 2:
        of.time().jump(std::chrono::minutes(random() % 60));
        break;
      case 3:
        ++all.reopened;
        if (!of.reopen(/*again=*/true).complete()) {
          run.broken("something is left of a pool that was closed");
        }
        break;
      case 4:
        (*pool)->resize(of.size());
        break;
      default:
        (*pool)->resize(random() % (2UL * of.size()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
  }
}

/// In the main thread: a server goes when the thread that started it does.
void harm(stress::run& run, chaos::backend& server, record& all, unsigned outage) {
  stress::random random = run.generator(1002);
  while (!run.over()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 100));
    all.note_fault(server.harm(random));
    const unsigned longest = random() % 8 == 0 ? outage : std::min(outage, 200U);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % longest));
    server.heal();
    const auto healed = clock::now();
    const std::uint64_t served = all.served;
    while (all.served == served && !run.over()) {
      std::this_thread::sleep_for(200us);
    }
    if (all.served != served) {
      all.note_recovery(clock::now() - healed);
    }
  }
}

/// With everything healed: all can be had at once, and then nothing is left.
void check_pool(const stress::run& run, subject& of, record& all) {
  const auto pool = of.pool();
  (*pool)->resize(of.size());
  std::vector<lease_type> leases;
  try {
    while (leases.size() < of.size()) {
      leases.push_back((*pool)->acquire_for(60s));
    }
  } catch (const lido::acquire_error& error) {
    run.broken(std::string("lost: ") + error.what());
  }
  leases.clear();
  if (!of.reopen(/*again=*/false).complete() || (*pool)->stats().waiters != 0) {
    run.broken("something is left of the last pool");
  }
  const auto patience = clock::now() + 60s;
  while (all.called != all.callbacks && clock::now() < patience) {
    std::this_thread::sleep_for(1ms);
  }
}

/// When both ends of the last connection are closed.
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

/// As soon as it has what it should have, or after a while: threads end some time after their last
/// word, and so do those of the kernel that close sockets.
chaos::belongings settled(const chaos::belongings& expected) {
  chaos::belongings now;
  const auto patience = clock::now() + 10s;
  while ((now.threads != expected.threads || now.files != expected.files) &&
         clock::now() < patience) {
    std::this_thread::sleep_for(5ms);
    now = chaos::belongings();
  }
  return now;
}

/// "killed:3,stopped:5".
std::string kinds_of_faults(const record& all) {
  std::string text;
  for (const auto& [kind, count] : all.faults_by_kind()) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", kind, count);
  }
  return text;
}

void report(const stress::run& run, record& all, const chaos::belongings& before,
            const settings& settings) {
  const chaos::belongings after = settled(before);
  const std::uint64_t forgotten = all.callbacks - all.called;
  stress::figures("chaos")
      .add("seed", run.options().seed)
      .add("backend", name_of_backend(settings))
      .add("served", all.served.load())
      .add("failed", all.failed.load())
      .add("refused", all.refused.load())
      .add("waited_by_callback", all.callbacks.load())
      .add("most_waiting_at_once", all.most_waiting.load())
      .add("faults", all.faults.load())
      .add("kinds", kinds_of_faults(all))
      .add("slow_connects", all.slow_connects.load())
      .add("slowest_connect_ms", all.slowest_connect_ms.load())
      .add("reopened", all.reopened.load())
      .add("recovery_p50_ms", fmt::format("{:.1f}", all.recovery(0.5)))
      .add("recovery_p99_ms", fmt::format("{:.1f}", all.recovery(0.99)))
      .add("lost", all.alive.load())
      .add("forgotten", forgotten)
      .add("late", all.late.load())
      .add("bound_ms", settings.bound)
      .add("bound_without_threads_ms", settings.bound + chaos::slack_without_threads.count())
      .add("worst_late_ms", all.worst_late_us / 1000)
      .add("machine_late_ms",
           std::chrono::duration_cast<std::chrono::milliseconds>(all.pulse.worst()).count())
      .add("threads_leaked", after.threads - before.threads)
      .add("files_leaked", after.files - before.files)
      .print();
  run.require(all.served > 0, "nothing was served");
  run.require(all.faults > 0, "no fault was injected");
  run.require(all.slow_connects > 0, "no connect was slower than it may be");
  if (all.alive != 0 || forgotten != 0 || all.late != 0 || after.threads != before.threads ||
      after.files != before.files) {
    run.broken("see the report");
  }
}

void put_under_load(stress::run& run, chaos::backend& server, subject& of, record& all,
                    const settings& settings) {
  std::vector<std::jthread> threads;
  for (unsigned thread = 1; thread <= run.options().threads; ++thread) {
    threads.emplace_back([&, thread] { asker(run, of, all, settings, thread).work(); });
  }
  threads.emplace_back([&] { crowd(run, of, all, settings); });
  threads.emplace_back([&] { meddle(run, of, all); });
  harm(run, server, all, settings.outage);
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  settings.run.threads = 12;
  stress::command_line line("Chaos", settings.run);
  line.add("--redis", settings.redis, "1: a Redis instead of a server in this process");
  line.add("--postgres", settings.postgres, "1: a PostgreSQL");
  line.add("--size", settings.size, "of the pool");
  line.add("--crowd", settings.crowd, "waiters at once");
  line.add("--faults", settings.faults, "one create in so many throws; 0: none");
  line.add("--bound", settings.bound, "milliseconds by which a wait may end late");
  line.add("--outage", settings.outage, "milliseconds that a fault lasts at most, 1 or more");
  line.add("--sabotage", settings.sabotage, "1: lose some connections, to see that it is noticed");
  line.parse(argc, argv);

  // Made before the census: what it has is its own.
  const auto server = settings.redis != 0      ? chaos::make_redis()
                      : settings.postgres != 0 ? chaos::make_postgres()
                                               : chaos::make_echo();
  if (server == nullptr) {
    fmt::print("{} is not installed\n", name_of_backend(settings));
    return EXIT_SUCCESS;
  }
  stress::run run(settings.run);
  // What client libraries keep is not a leak, nor is what sanitizers start with the first thread.
  (void)server->connect({clock::now() + 5s, {}});
  record all;  // with a thread of its own
  const chaos::belongings before = at_rest();
  {
    subject of(chaos::random_factory(*server, all, settings.faults, settings.sabotage != 0),
               settings.size, run.generator(1003));
    do {
      put_under_load(run, *server, of, all, settings);
    } while (run.goes_on(all.served > 0 && all.faults > 0 && all.slow_connects > 0));
    check_pool(run, of, all);
  }
  report(run, all, before, settings);
  return run.held("chaos");
}
