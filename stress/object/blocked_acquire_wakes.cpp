/// Tries to break: each waiter for a slot is woken, in FIFO order, and no slot is lost to an
/// abandoned wait.
///
/// More threads than slots wait in every possible way: for ever, for a moment, and until another
/// thread stops them. A watchdog checks that each thread makes progress. In some rounds the order
/// is known: waiters that have not given up must be served in it. In others all slots are released
/// at the same moment, and then no thread does anything. These releases alone must wake as many
/// waiters as there are slots.
#include <fmt/core.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "harness/pools.hpp"

namespace {

/// The part of a worker's state that others see, and their means to stop it.
struct alignas(128) worker_state {
  std::atomic<std::uint64_t> steps{0};
  std::atomic<bool> ended{false};
  std::mutex mutex;
  std::stop_source stop;

  std::stop_token renew() {
    const std::lock_guard lock(mutex);
    stop = std::stop_source();
    return stop.get_token();
  }
  void request_stop() {
    const std::lock_guard lock(mutex);
    stop.request_stop();
  }
};

struct counts {
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> stopped{0};
};

class drill {
 public:
  drill(stress::run& run, stress::pool_type& pool, unsigned patience)
      : run_(run), pool_(pool), patience_(patience), workers_(run.options().threads) {}

  void crowd() {
    std::jthread watch([this](const std::stop_token& stop) { watch_over(stop); });
    std::jthread stopper([this](const std::stop_token& stop) {
      stress::random random = run_.generator(1000);
      while (!stop.stop_requested()) {
        workers_[random() % workers_.size()].request_stop();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      }
    });
    run_.in_threads(static_cast<unsigned>(workers_.size()),
                    [this](unsigned thread) { work(thread); });
  }

  /// Runs a round with all slots out: threads begin to wait one after another, some give up; then
  /// the slots are released one by one.
  void queue_up(stress::random& random) {
    constexpr std::size_t waiters = 5;
    std::vector<stress::owned*> held;
    while (stress::owned* const object = pool_.try_acquire_ptr(lido::default_init)) {
      held.push_back(object);
    }
    std::array<std::stop_source, waiters> stops;
    std::array<bool, waiters> leaves{};
    std::atomic<std::size_t> ended{0};
    std::atomic<std::size_t> last_served{0};
    std::vector<std::jthread> crew;
    for (std::size_t place = 0; place < waiters; ++place) {
      leaves.at(place) = random() % 3 == 0;
      crew.emplace_back([&, place] {
        if (const auto mine = pool_.acquire(stops.at(place).get_token(), lido::default_init)) {
          if (last_served.exchange(place + 1) > place) {
            run_.broken("a waiter was served before one that came earlier");
          }
        }
        ++ended;
      });
      await([&] { return pool_.stats().waiting == place + 1; });
    }
    std::size_t gone = 0;
    for (std::size_t place = 0; place < waiters; ++place) {
      if (leaves.at(place)) {
        stops.at(place).request_stop();
        ++gone;
        await([&] { return ended == gone; });
      }
    }
    pool_.release(held.back());  // a chain: each gives it to the next
    held.pop_back();
    await([&] { return ended == waiters; });
    crew.clear();
    pool_.release_n(held);
    ++rounds_;
  }

  /// Lets as many waiters wait as there are slots, all of which are released at once. Each waiter
  /// keeps its slot until all have been served.
  void all_at_once(std::chrono::steady_clock::time_point end) {
    const auto slots = static_cast<unsigned>(pool_.capacity());
    std::atomic<std::uint64_t> served{0};
    std::atomic<bool> go_on{true};
    std::atomic<bool> all_wait{false};
    std::barrier turn(2 * static_cast<std::ptrdiff_t>(slots), [&]() noexcept {
      go_on = std::chrono::steady_clock::now() < end;
      served = 0;
      all_wait = false;
    });
    const auto give = [&] {
      lido::lease<stress::owned> mine = pool_.try_acquire(lido::default_init);
      if (!mine) {
        run_.broken("an acquire was refused although a slot was free");
      }
      turn.arrive_and_wait();  // all slots are out
      await([&] { return all_wait || pool_.stats().waiting == slots; });
      all_wait = true;  // for threads that look after the first hand-over
      mine.reset();
    };
    const auto take = [&] {
      turn.arrive_and_wait();
      const lido::lease<stress::owned> mine = pool_.acquire(lido::default_init);
      ++served;
      await([&] { return served == slots; });
    };
    run_.in_threads(2 * slots, [&](unsigned thread) {
      while (go_on) {
        thread < slots ? give() : take();
        await([&] { return served == slots; });
        turn.arrive_and_wait();  // all are free again
        if (thread == 0) {
          ++silent_rounds_;
        }
      }
    });
  }

  /// Returns whether a thread has waited, and some have given up in each of the two ways.
  [[nodiscard]] bool all_happened() const {
    return pool_.stats().handed_over > 0 && counts_.late > 0 && counts_.stopped > 0;
  }
  void print() const {
    fmt::print("served {}, handed over {}, late {}, stopped {}, rounds in order {}, silent {}\n",
               counts_.served.load(), pool_.stats().handed_over, counts_.late.load(),
               counts_.stopped.load(), rounds_, silent_rounds_);
  }

 private:
  void work(unsigned thread) {
    stress::random random = run_.generator(thread);
    worker_state& me = workers_[thread];
    me.ended = false;
    std::uint64_t operations = 0;
    while (!run_.over()) {
      one_acquire(me, thread + 1, random);
      me.steps.fetch_add(1, std::memory_order_relaxed);
      ++operations;
    }
    me.ended = true;
    run_.add_operations(operations);
  }

  void one_acquire(worker_state& me, unsigned owner, stress::random& random) {
    const auto choice = random() % 8;
    lido::lease<stress::owned> mine;
    if (choice < 4) {
      mine = pool_.acquire(lido::default_init);
      if (!mine) {
        run_.broken("an acquire that waits for ever came back empty");
      }
    } else if (choice < 6) {
      mine = pool_.acquire_for(std::chrono::microseconds(random() % 100), lido::default_init);
      counts_.late += mine ? 0 : 1;
    } else if (choice < 7) {
      mine = pool_.acquire(me.renew(), lido::default_init);
      counts_.stopped += mine ? 0 : 1;
    } else {
      mine = pool_.try_acquire(lido::default_init);
    }
    if (mine) {
      ++counts_.served;
      stress::take(run_, *mine, owner);
      if (random() % 4 == 0) {
        std::this_thread::yield();  // the others must wait
      }
      stress::leave(run_, *mine, owner);
    }
  }

  void watch_over(const std::stop_token& stop) {
    std::vector<std::uint64_t> seen(workers_.size());
    std::vector<unsigned> still(workers_.size());
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        const std::uint64_t now = workers_[i].steps;
        still[i] = now == seen[i] && !workers_[i].ended ? still[i] + 1 : 0;
        seen[i] = now;
        if (still[i] > patience_ * 10) {
          run_.broken("thread " + std::to_string(i + 1) + " waits and is forgotten");
        }
      }
    }
  }

  template <class Condition>
  void await(const Condition& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(patience_);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        run_.broken("a waiter is forgotten, or does not leave");
      }
      std::this_thread::yield();
    }
  }

  stress::run& run_;
  stress::pool_type& pool_;
  unsigned patience_;
  std::vector<worker_state> workers_;
  counts counts_;
  std::uint64_t rounds_ = 0;
  std::uint64_t silent_rounds_ = 0;
};

struct blocked_acquire_wakes : stress::pool_driver {
  blocked_acquire_wakes() : pool_driver("blocked_acquire_wakes", 8) {}

  void prepare(stress::run& run) override {
    open({.capacity = slots_, .when_full = lido::when_full::wait});
    drill_.emplace(run, pool(), patience_);
    random_ = run.generator(0);
    for (int round = 0; round < 20; ++round) {
      drill_->queue_up(random_);
    }
    drill_->all_at_once(std::chrono::steady_clock::now() +
                        std::chrono::milliseconds(static_cast<long>(seconds() * 500)));
    run.start();
  }
  void round(stress::run& /*run*/, unsigned /*number*/) override { drill_->crowd(); }
  void check(stress::run& run) override {
    drill_->queue_up(random_);
    drill_->print();
    if (stats().waiting != 0) {
      run.broken("somebody who has left is still in the queue");
    }
    require_all(run, pool(), slots_);
  }
  [[nodiscard]] std::string missing() const override {
    return drill_->all_happened() ? "" : "nobody had to wait, or nobody gave up";
  }

  const unsigned& slots_ =
      option("--slots", 3, "capacity of the pool, fewer than there are threads");
  const unsigned& patience_ =
      option("--patience", 60, "seconds after which a waiter counts as forgotten");
  std::optional<drill> drill_;
  stress::random random_;
};

}  // namespace

int main(int argc, char** argv) {
  return blocked_acquire_wakes().drive(argc, argv);
}
