/// Tries to break: no waiter of a key is left waiting while the total and the limit of its key
/// leave room. This holds without ticks, releases, or any other use of the pool.
///
/// Each round makes a new pool. Its threads use the pool for a while, and then keep what they get.
/// Once no thread makes progress, each waiter must have a reason to wait. No thread releases
/// anything then, since a release would serve a forgotten waiter.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "harness/driver.hpp"
#include "lido/keyed_resource_pool.hpp"

namespace {

using namespace std::chrono_literals;

/// The limits of one round, drawn at random each time.
struct limits {
  unsigned total;
  unsigned each;
  unsigned keys;
  unsigned faults;  ///< one call of the factory in this many fails; 0: none
  unsigned delay;   ///< the longest time of a call, in microseconds
  unsigned retry;   ///< first backoff in microseconds; the longest is four times as long
  bool has_threads;
};

struct chance {
  std::atomic<unsigned> calls{1};
  unsigned next() { return calls++ * 0x9E3779B9U >> 13U; }
};

struct moody_factory {
  const limits* of;
  chance* moods;

  [[nodiscard]] int create(const unsigned& /*key*/) const {
    if (fails_after(1)) {
      throw std::runtime_error("no connection");
    }
    return 1;
  }
  [[nodiscard]] bool validate(int& /*idle*/) const { return !fails_after(4); }
  [[nodiscard]] bool reset(int& /*used*/) const { return !fails_after(8); }
  void destroy(int& /*ended*/, lido::destroy_reason /*why*/) const noexcept {
    (void)fails_after(2);
  }

 private:
  [[nodiscard]] bool fails_after(unsigned part) const {
    const unsigned mood = moods->next();
    std::this_thread::sleep_for(std::chrono::microseconds(mood % (of->delay / part + 1)));
    return of->faults != 0 && mood / 7 % of->faults == 0;
  }
};

using pool_type = lido::keyed_resource_pool<unsigned, int>;

/// The key that a thread waits for, and the one that it holds, or `nothing`.
struct state {
  static constexpr int nothing = -1;
  std::atomic<int> waits{nothing};
  std::atomic<int> has{nothing};
};

class crowd {
 public:
  crowd(stress::random random, unsigned threads)
      : random_(random),
        drawn_{1 + draw(3),    1 + draw(3),    2 + draw(3), draw(2) == 0 ? 0 : 3 + draw(6),
               draw(3) * 1500, 20U << draw(7), draw(2) == 0},
        pool_(moody_factory{&drawn_, &moods_},
              {.max_total = drawn_.total,
               .prefer_same_key_for = std::chrono::milliseconds(draw(3)),
               .each_key = {.max_size = drawn_.each,
                            .validate_if_idle_longer_than = draw(2) == 0 ? 0ms : 500ms,
                            .retry_first = std::chrono::microseconds(drawn_.retry),
                            .retry_longest = std::chrono::microseconds(4 * drawn_.retry),
                            .maintenance = drawn_.has_threads ? lido::maintenance::background
                                                              : lido::maintenance::by_tick}}),
        states_(threads) {
    for (state& mine : states_) {
      threads_.emplace_back([this, &mine, own = stress::random(random_())]() mutable {
        use_for_a_while(own);
        keep(mine, static_cast<unsigned>(own() % drawn_.keys));
      });
    }
  }

  /// Returns true if a thread waits for `patience` although the limits leave room. Sets `waited` if
  /// any thread had to wait.
  bool forgets(std::chrono::milliseconds patience, bool& waited) {
    std::this_thread::sleep_for(40ms);
    const auto end = std::chrono::steady_clock::now() + patience;
    bool beside_room = is_beside_room();
    while (beside_room && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(10ms);
      beside_room = is_beside_room();
    }
    for (const state& one : states_) {
      waited |= one.waits != state::nothing;
    }
    return beside_room;
  }

  void end() {
    over_ = true;
    give_up_.request_stop();
    threads_.clear();
  }

 private:
  unsigned draw(unsigned sides) { return static_cast<unsigned>(random_() >> 8U) % sides; }

  void use_for_a_while(stress::random& random) {
    for (auto uses = random() % 4; uses > 0; --uses) {
      const auto key = static_cast<unsigned>(random() % drawn_.keys);
      try {
        auto lease = random() % 4 == 0
                         ? pool_.at(key).try_acquire()
                         : pool_.at(key).acquire_for(std::chrono::microseconds(random() % 3000));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
        if (lease && random() % 5 == 0) {
          lease.discard();
        }
      } catch (const lido::acquire_error&) {  // timed out
      }
    }
  }

  void keep(state& mine, unsigned key) {
    mine.waits = static_cast<int>(key);
    try {
      const auto lease = pool_.at(key).acquire_for(60s, give_up_.get_token());
      mine.waits = state::nothing;
      mine.has = static_cast<int>(key);
      while (!over_) {
        std::this_thread::sleep_for(1ms);
      }
    } catch (const lido::acquire_error&) {  // the round has ended
      mine.waits = state::nothing;
    }
  }

  [[nodiscard]] bool is_beside_room() const {
    unsigned all = 0;
    std::vector<unsigned> of_key(drawn_.keys);
    for (const state& one : states_) {
      if (const int key = one.has; key != state::nothing) {
        ++all;
        ++of_key[static_cast<std::size_t>(key)];
      }
    }
    for (const state& one : states_) {
      const int key = one.waits;
      if (key != state::nothing && all < drawn_.total &&
          of_key[static_cast<std::size_t>(key)] < drawn_.each) {
        return true;
      }
    }
    return false;
  }

  stress::random random_;
  const limits drawn_;
  chance moods_;
  pool_type pool_;
  std::vector<state> states_;
  std::atomic<bool> over_{false};
  std::stop_source give_up_;
  std::vector<std::jthread> threads_;
};

struct no_waiter_beside_room : stress::driver {
  no_waiter_beside_room() : driver("no_waiter_beside_room") {}

  void round(stress::run& run, unsigned /*number*/) override {
    run.in_threads(8, [&](unsigned group) {  // a crowd mostly sleeps
      for (unsigned number = 0; !run.over(); ++number) {
        crowd one(run.generator(group, number), threads());
        bool had_to_wait = false;
        if (one.forgets(std::chrono::seconds(patience_), had_to_wait)) {
          run.broken("a waiter is left beside room");
        }
        waited_ = waited_ || had_to_wait;
        one.end();
        run.add_operations(1);
      }
    });
  }
  [[nodiscard]] std::string missing() const override {
    return waited_ ? "" : "no thread had to wait";
  }

  const unsigned& patience_ =
      option("--patience", 10, "seconds after which a wait has been forgotten");
  std::atomic<bool> waited_{false};
};

}  // namespace

int main(int argc, char** argv) {
  return no_waiter_beside_room().drive(argc, argv);
}
