/// Tries to break: a pool recovers soon after its server. It never has more connections than
/// `max_size`, and no acquire ends much later than its limit.
///
/// The same outage is tried on a typical hand-written pool, before Lido's, in the same run.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "clients.hpp"
#include "harness/driver.hpp"
#include "harness/report.hpp"
#include "lenders.hpp"
#include "servers_that_stop.hpp"

namespace {

using namespace std::chrono_literals;
using outage::clock;
using outage::ms;
using outage::use;

constexpr auto limit = 1s;      // of an acquire
constexpr auto swift = 5ms;     // a normal acquire
constexpr auto window = 500ms;  // span over which a share is computed

/// The results of one pool in an outage.
struct outcome {
  unsigned connects = 0;
  unsigned failed_connects = 0;
  unsigned most_open = 0;
  std::size_t served = 0;
  std::size_t refused = 0;  ///< failed acquires
  std::size_t broken = 0;   ///< uses that began and failed
  double swift_before = 0;  ///< share of swift acquires
  clock::duration back_after{};
  bool is_back = false;         ///< true if that was before the load ended
  clock::duration latest{};     ///< the most by which an acquire exceeded its limit
  clock::duration overslept{};  ///< the most that a sleep of a client exceeded its time by
};

[[nodiscard]] bool is_swift(const use& one) {
  return one.is_served && one.acquire < swift;
}

/// Returns the share of swift uses among those that ended in the window from `from` on, or 0 if
/// none did.
[[nodiscard]] double swift_share(const std::vector<use>& sorted, clock::time_point from) {
  const auto before = [](const use& one, clock::time_point moment) { return one.end < moment; };
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), from, before);
  const auto last = std::lower_bound(first, sorted.end(), from + window, before);
  const auto count = std::count_if(first, last, is_swift);
  return first == last ? 0 : static_cast<double>(count) / static_cast<double>(last - first);
}

/// Returns whether 99 % are swift in each window that begins in the `window` after `from`, which
/// covers a second in all.
[[nodiscard]] bool is_all_swift(const std::vector<use>& sorted, clock::time_point from) {
  for (auto moment = from; moment < from + window; moment += 20ms) {
    if (swift_share(sorted, moment) < 0.99) {
      return false;
    }
  }
  return true;
}

struct settings : stress::driver {
  settings() : driver("failover", 40) {}

  const unsigned& server =
      option("--server", 0,
             "0: Redis, 1: PgBouncer, 2: PostgreSQL behind it, 3: the same, and a connect asks "
             "for an answer, 4: one of two Redis, silent");
  const unsigned& size = option("--size", 20, "of the pool");
  const unsigned& down = option("--down", 5000, "milliseconds that the server is away");
  const unsigned& after = option("--after", 6000, "milliseconds of load after that");
  const unsigned& bound =
      option("--bound", 1000, "milliseconds that Lido may be back later than the other");
  const unsigned& late =
      option("--late", 20, "milliseconds that an acquire may be later than the other's");
};

struct failover_driver : settings {
  void prepare(stress::run& run) override try {
    constexpr std::array makers{&outage::make_redis, &outage::make_pgbouncer,
                                &outage::make_postgres, &outage::make_asked_postgres,
                                &outage::make_silent_redis};
    server_ = makers.at(server)();
  } catch (const std::runtime_error& problem) {
    run.vacuous(problem.what());
  }

  void load(stress::run& run) override {
    const outcome control = try_one(run, /*by_hand=*/true);
    const outcome lido = try_one(run, /*by_hand=*/false);
    report("by_hand", control);
    report("lido", lido);
    judge(run, control, lido);
  }

 private:
  outcome try_one(stress::run& run, bool by_hand) {
    outage::connects connects;
    std::vector<std::vector<use>> uses(threads());
    std::vector<clock::duration> overslept(threads());
    clock::time_point stopped;
    clock::time_point back;
    {
      const auto lender = server_->make_lender(by_hand, size, connects);
      std::atomic<bool> over = false;
      std::vector<std::jthread> clients;
      for (unsigned client = 0; client < threads(); ++client) {
        clients.emplace_back(
            [&, client] { overslept[client] = work(*lender, over, uses[client], client); });
      }
      std::this_thread::sleep_for(2 * window);
      stopped = clock::now();
      server_->stop();
      std::this_thread::sleep_until(stopped + std::chrono::milliseconds(down));
      server_->start();
      back = server_->has_another() ? stopped : clock::now();
      std::this_thread::sleep_for(std::chrono::milliseconds(after));
      over = true;
    }
    outcome found = sum_up(uses, stopped, back);
    found.overslept = *std::max_element(overslept.begin(), overslept.end());
    found.connects = connects.begun;
    found.failed_connects = connects.failed;
    found.most_open = connects.most_open;
    run.add_operations(found.served);
    return found;
  }

  /// Works 5 ms with a connection, and 10 to 20 without. Returns the longest oversleep.
  static clock::duration work(outage::lender& lender, const std::atomic<bool>& over,
                              std::vector<use>& uses, unsigned client) {
    stress::random random(client + 1);
    clock::duration most{};
    while (!over) {
      uses.push_back(lender.use_once(limit, 5ms));
      const auto end = clock::now() + std::chrono::microseconds(10'000 + random() % 10'000);
      std::this_thread::sleep_until(end);
      most = std::max(most, clock::now() - end);
    }
    return most;
  }

  static outcome sum_up(const std::vector<std::vector<use>>& of_clients, clock::time_point stopped,
                        clock::time_point back) {
    std::vector<use> all;
    for (const std::vector<use>& uses : of_clients) {
      all.insert(all.end(), uses.begin(), uses.end());
    }
    std::sort(all.begin(), all.end(), [](const use& l, const use& r) { return l.end < r.end; });
    outcome found;
    for (const use& one : all) {
      ++(one.is_served ? found.served : one.is_acquired ? found.broken : found.refused);
      found.latest = std::max(found.latest, one.acquire - limit);
    }
    found.swift_before = swift_share(all, stopped - window);
    const clock::time_point last = all.back().end - 2 * window;
    clock::time_point moment = back;
    while (moment < last && !is_all_swift(all, moment)) {
      moment += 1ms;
    }
    found.back_after = moment - back;
    found.is_back = moment < last;
    return found;
  }

  static void report(std::string_view pool, const outcome& seen) {
    stress::figures(pool)
        .add("connects", seen.connects)
        .add("failed_connects", seen.failed_connects)
        .add("most_open", seen.most_open)
        .add("served", seen.served)
        .add("acquires_refused", seen.refused)
        .add("uses_broken", seen.broken)
        .add("back_after_ms", ms(seen.back_after))
        .add("latest_ms", ms(seen.latest))
        .add("overslept_ms", ms(seen.overslept))
        .add("swift_before", std::round(seen.swift_before * 1000) / 10)
        .print();
  }

  void judge(stress::run& run, const outcome& control, const outcome& lido) const {
    if (lido.most_open > size) {
      run.broken(std::to_string(lido.most_open) + " connections at once");
    }
    // The other pool refuses at once where Lido waits. So its clients' sleeps count, too: a machine
    // that wakes those late wakes an acquire late.
    const clock::duration others = std::max(control.latest, control.overslept);
    if (lido.latest > others + std::chrono::milliseconds(late)) {
      run.broken("an acquire was late");
    }
    if (!lido.is_back) {
      run.broken("the pool was not back when the load ended");
    }
    if (lido.back_after > control.back_after + std::chrono::milliseconds(bound)) {
      run.broken("the pool was away for long after its server was back");
    }
    if (control.failed_connects + control.broken == 0 || lido.served == 0) {
      run.vacuous("the outage was not noticed");
    }
  }

  std::unique_ptr<outage::stopping_server> server_;
};

}  // namespace

int main(int argc, char** argv) {
  return failover_driver().drive(argc, argv);
}
