/// Tries to break: a stopped thread, wherever it is, holds up no other thread, and a child forked
/// at that moment can continue.
///
/// A victim runs a fixed script in a build that can stop it inside every window. While it is
/// stopped there, other threads must get and give slots as long as there are free ones, and then be
/// refused in bounded time. A forked child must find the same slots without waiting for threads
/// that it does not have. Then the victim resumes, and all slots must be free.
///
/// `--pool grow`: the script also adds segments and gives them back. `--pool block`: one thread
/// waits for what the victim releases; only that thread has to wait for the victim. `--pool mutex`
/// is the control: a list behind a mutex, where all other threads are held up.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "fault/child_of_stall.hpp"
#include "harness/heartbeat.hpp"
#include "harness/mutex_pool.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"
#include "harness/stall.hpp"
#include "lido/checked.hpp"

namespace {

using std::chrono::steady_clock;

constexpr std::size_t capacity = 128;
constexpr std::size_t reserve = 8;  // free slots for the others while the victim is stopped
constexpr unsigned others = 2;
constexpr unsigned pairs = 2'000;

/// An object of a page, so that a pool has many segments.
struct page : stress::owned {
  std::array<std::byte, 4096 - sizeof(stress::owned)> rest;
};
using growing = lido::object_pool<page>;
using checked = lido::object_pool<stress::owned, lido::checked_traits<stress::owned>>;
struct blocking : stress::pool_type {
  using stress::pool_type::pool_type;
};

template <class Pool>
inline constexpr bool grows = std::same_as<Pool, growing>;
template <class Pool>
inline constexpr bool blocks = std::same_as<Pool, blocking>;

struct results {
  unsigned stalls = 0, missed = 0, frozen = 0, excused = 0, forks = 0;
  std::size_t windows = 0;
  std::uint64_t pairs = 0;
  double longest_pair_ms = 0, longest_refusal_ms = 0;
  std::size_t most_in_transit = 0;
  stress::heartbeat pulse;
};

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

/// Owns the pool, the threads with full caches, and the victim.
template <class Pool>
class scene {
  using element = std::remove_pointer_t<decltype(std::declval<Pool&>().try_acquire_ptr())>;

 public:
  /// Makes the victim stop at its `stop_at`-th schedule point, or record all of them.
  scene(stress::run& run, results& results, const lido::object_pool_options& options,
        std::uint32_t stop_at, std::vector<std::uintptr_t>* places = nullptr)
      : run_(run), results_(results), options_(options), pool_(std::make_unique<Pool>(options)) {
    stress::clear_owners(*pool_);
    if constexpr (grows<Pool>) {
      (void)pool_->shrink_to(0);
    }
    for (std::size_t i = 0; i < reserve; ++i) {
      reserve_.push_back(pool_->try_acquire_ptr(lido::default_init));
    }
    gift_ = pool_->try_acquire_ptr(lido::default_init);
    neighbour_ = std::thread([this] { keep_a_full_cache(); });
    both_.arrive_and_wait();
    if constexpr (blocks<Pool>) {
      // A starting thread allocates, and a fork at that moment leaves its child AddressSanitizer's
      // lock.
      std::latch is_there(1);
      customer_ = std::thread([this, &is_there] {
        is_there.count_down();
        wait_for_a_slot();
      });
      is_there.wait();
    }
    victim_ = std::thread([this, stop_at, places] {
      if (places != nullptr) {
        stress::stall::record(*places);
      }
      stress::stall::arm(stop_at);
      play();
      script_over_ = true;  // only the end of the thread is left
    });
  }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;
  ~scene() = default;

  void rehearse() { finish(); }

  void check(bool with_fork) {
    // The victim's path through the queue of waiters depends on which threads are there.
    if (!stress::stall::wait_for_one(blocks<Pool> ? &script_over_ : nullptr)) {
      if (!blocks<Pool>) {
        run_.broken("the victim did not come to its window");
      }
      ++results_.missed;
      return finish();
    }
    ++results_.stalls;
    let_others(1, [this](unsigned /*other*/) { pool_->release_n(std::exchange(reserve_, {})); });
    let_others_work();
    const std::size_t found = drain_and_time();
    results_.most_in_transit =
        std::max(results_.most_in_transit, capacity - found - victims_.size());
    // A fork waits for a thread that is about to end.
    if (with_fork && !script_over_) {
      fork_and_judge(found);
    }
    finish();
  }

 private:
  void finish() {
    stress::stall::end();
    victim_.join();
    stress::stall::reset();
    if (customer_.joinable()) {
      customer_.join();
    }
    leave_.count_down();
    for (std::thread& other : others_) {
      other.join();
    }
    both_.arrive_and_wait();
    neighbour_.join();
    pool_->release_n(reserve_);
    if (stress::count_acquirable(*pool_) != capacity) {
      run_.broken("slots are missing after the victim has ended");
    }
  }

  void keep_a_full_cache() {
    std::vector<element*> held;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 12; ++i) {
        held.push_back(pool_->try_acquire_ptr(lido::default_init));
      }
      pool_->release_n(held);
      held.clear();
    }
    both_.arrive_and_wait();
    both_.arrive_and_wait();
  }

  /// Waits for a slot that the victim releases, if the victim has them all.
  void wait_for_a_slot() {
    if constexpr (blocks<Pool>) {
      exhausted_.wait(false);
      (void)pool_->acquire(lido::default_init);
      is_served_ = true;
    }
  }

  void let_customer_wait() {
    if constexpr (blocks<Pool>) {
      exhausted_ = true;
      exhausted_.notify_one();
      while (pool_->stats().waiting == 0 && !is_served_) {  // the victim may stop in here
        std::this_thread::yield();
      }
    }
  }

  /// Runs the victim's script: hits, refills, flushes, a theft, a refusal, a bulk acquire.
  void play() {
    victims_.reserve(capacity);
    pool_->release(std::exchange(gift_, nullptr));
    for (const std::size_t height : {std::size_t{6}, std::size_t{20}, std::size_t{60}}) {
      climb(height);
      descend();
    }
    climb(capacity + 1);  // robs the neighbour, and is refused at the end
    let_customer_wait();
    std::vector<element*> back(victims_.end() - 20, victims_.end());
    victims_.resize(victims_.size() - 20);
    pool_->release_n(back);
    back.resize(pool_->try_acquire_n(back));
    victims_.insert(victims_.end(), back.begin(), back.end());
    descend();
    if constexpr (grows<Pool>) {
      (void)pool_->shrink_to(capacity / 2);
      pool_->reserve(capacity);
    }
  }

  void climb(std::size_t height) {
    element* object = nullptr;
    do {
      object = pool_->try_acquire_ptr(lido::default_init);
      if (object != nullptr) {
        victims_.push_back(object);
      }
    } while (object != nullptr && victims_.size() < height);
  }

  void descend() {
    while (!victims_.empty()) {
      element* const object = victims_.back();
      victims_.pop_back();
      pool_->release(object);
    }
  }

  /// Runs `body` in threads that must end it soon, whatever the victim does.
  template <class Body>
  void let_others(unsigned count, const Body& body) {
    std::latch done(count);
    for (unsigned other = 0; other < count; ++other) {
      others_.emplace_back([this, &body, &done, other] {
        body(other);
        done.count_down();
        leave_.wait();  // a thread that ends may have to wait for the victim
      });
    }
    const auto start = steady_clock::now();
    while (!done.try_wait()) {
      if (milliseconds_since(start) > 10'000) {
        run_.broken("threads wait for one that stands still, though there are free slots");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  /// Lets others acquire and release; there are free slots, so each acquire must succeed.
  void let_others_work() {
    struct account {
      double longest = 0;
      unsigned refused = 0;
    };
    std::array<account, others> accounts{};
    const auto begin = steady_clock::now();
    let_others(others, [&](unsigned other) {
      account own;
      for (unsigned i = 0; i < pairs; ++i) {
        const auto start = steady_clock::now();
        element* const object = pool_->try_acquire_ptr(lido::default_init);
        own.refused += object == nullptr ? 1 : 0;
        pool_->release(object);
        own.longest = std::max(own.longest, milliseconds_since(start));
      }
      accounts[other] = own;
    });
    results_.pairs += std::uint64_t{others} * pairs;
    // Or one of them was preempted with slots in its hands, which is the machine's doing.
    const bool is_excused =
        results_.pulse.missed_between(begin, steady_clock::now()) >= std::chrono::milliseconds(50);
    for (const account& own : accounts) {
      results_.longest_pair_ms = std::max(results_.longest_pair_ms, own.longest);
      (is_excused ? results_.excused : results_.frozen) += own.refused > 0 ? 1 : 0;
    }
  }

  /// Takes all slots; the refusal at the end may have to wait for the victim, but not for long.
  std::size_t drain_and_time() {
    std::vector<element*> all;
    steady_clock::time_point start;
    for (;;) {
      start = steady_clock::now();
      element* const object = pool_->try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;
      }
      all.push_back(object);
    }
    results_.longest_refusal_ms = std::max(results_.longest_refusal_ms, milliseconds_since(start));
    stress::require_distinct(run_, all, victims_);
    pool_->release_n(all);
    return all.size();
  }

  void fork_and_judge(std::size_t found) {
    ++results_.forks;
    const pid_t child = ::fork();
    if (child == 0) {
      stress::live_as_child(run_, pool_, options_, victims_, found);
      std::_Exit(EXIT_SUCCESS);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) {
      run_.broken("the child ended with status " + std::to_string(status));
    }
  }

  stress::run& run_;
  results& results_;
  lido::object_pool_options options_;
  std::unique_ptr<Pool> pool_;
  std::vector<element*> reserve_;
  std::vector<element*> victims_;
  element* gift_ = nullptr;  ///< released by the victim, which did not acquire it
  std::barrier<> both_{2};
  std::thread neighbour_;
  std::thread customer_;
  std::thread victim_;
  std::atomic<bool> script_over_{false};
  std::atomic<bool> exhausted_{false};
  std::atomic<bool> is_served_{false};
  std::vector<std::thread> others_;
  std::latch leave_{1};
};

struct stalled_thread_holds_nobody_up : stress::pool_driver {
  stalled_thread_holds_nobody_up()
      : pool_driver("stalled_thread_holds_nobody_up", 4, {"grow", "block", "checked", "mutex"}) {}

  void load(stress::run& run) override {
    if (pool_name() == "grow") {
      sweep<growing>(run, {.max_capacity = capacity, .when_full = lido::when_full::grow});
    } else if (pool_name() == "block") {
      sweep<blocking>(run, {.capacity = capacity, .when_full = lido::when_full::wait});
    } else if (pool_name() == "checked") {
      sweep<checked>(run, {.capacity = capacity});
    } else if (pool_name() == "mutex") {
      sweep<stress::mutex_pool>(run, {.capacity = capacity});
    } else {
      sweep<stress::pool_type>(run, with_pool({.capacity = capacity}));
    }
  }

  template <class Pool>
  void sweep(stress::run& run, const lido::object_pool_options& options) {
    std::vector<std::uintptr_t> places;
    // On a busy machine a thread of the script may come too late for some windows.
    for (int attempt = 0; attempt < 10 && results_.windows < windows_; ++attempt) {
      places.clear();
      scene<Pool>(run, results_, options, stress::stall::never, &places).rehearse();
      results_.windows = stress::stall::count_windows(places);
    }
    for (const std::uint32_t stop_at : stress::stall::choose(places, per_window_)) {
      scene<Pool>(run, results_, options, stop_at).check(fork_ != 0);
    }
  }

  void check(stress::run& run) override {
    stress::figures(invariant())
        .add("pool", pool_name())
        .add("windows", results_.windows)
        .add("stalls", results_.stalls)
        .add("rounds_without_progress", results_.frozen)
        .add("excused", results_.excused)
        .add("pairs_beside_a_stall", results_.pairs)
        .add("longest_pair_ms", fmt::format("{:.2f}", results_.longest_pair_ms))
        .add("longest_refusal_ms", fmt::format("{:.0f}", results_.longest_refusal_ms))
        .add("forks", results_.forks)
        .add("most_slots_in_transit", results_.most_in_transit)
        .print();
    if (results_.longest_refusal_ms >= 20'000) {
      run.broken("a refusal waited without a bound");
    }
    if (results_.frozen > 0) {
      run.broken("a thread was held up by one that stood still");
    }
    run.add_operations(2 * results_.pairs);
  }
  [[nodiscard]] std::string missing() const override {
    if (results_.windows < windows_) {
      return "the script misses windows";
    }
    return results_.missed * 4 > results_.stalls ? "the victim hardly ever came to its window" : "";
  }

  const unsigned& windows_ =
      option("--windows", 1, "least number of windows that the script passes");
  const unsigned& per_window_ = option("--per-window", 1, "stalls at each place in the code");
  const unsigned& fork_ = option("--fork", 1, "0: without forks");
  results results_;
};

}  // namespace

int main(int argc, char** argv) {
  return stalled_thread_holds_nobody_up().drive(argc, argv);
}
