/// @file
/// The pool under test: its factory, its clock, and how it is closed and reopened.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness/run.hpp"
#include "lido/resource_pool.hpp"
#include "peers.hpp"
#include "record.hpp"

namespace chaos {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals
using connection = std::unique_ptr<link>;
using pool_type = lido::resource_pool<connection>;
using lease_type = lido::resource_lease<connection>;
using result_type = lido::acquire_result<connection>;

/// A clock that follows real time, and jumps ahead.
class jumping_clock : public lido::time_source {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return clock::now().time_since_epoch() + std::chrono::nanoseconds(ahead_);
  }
  void jump(std::chrono::nanoseconds by) { ahead_ += by.count(); }

 private:
  std::atomic<std::int64_t> ahead_{0};
};

constexpr std::chrono::milliseconds create_timeout = 300ms;

/// A factory that throws at random, sometimes a permanent failure, and takes a random time,
/// sometimes longer than create_timeout.
class random_factory {
 public:
  random_factory(backend& to, record& all, unsigned faults, bool is_sabotaged)
      : to_(&to), all_(&all), faults_(faults), is_sabotaged_(is_sabotaged) {}

  connection create(const lido::create_context& context) {
    const unsigned draw = next();
    if (faults_ != 0) {
      throw_sometimes(draw);
    }
    const timer limited(*all_);
    if (draw % 16 == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(draw / 16 % 30));
    } else if (draw % 128 == 2) {
      wait_for_the_end(context);
    }
    connection made = to_->connect(context);
    // Some calls ignore the context. Counted, not drawn: a busy machine makes so few connections
    // that draws would seldom choose one.
    if (common_->made++ % 32 == 16) {
      std::this_thread::sleep_for(create_timeout + std::chrono::milliseconds(draw / 128 % 150));
    }
    ++all_->alive;
    return made;
  }
  bool validate(connection& idle, const lido::create_context& context) {
    return (faults_ == 0 || next() % (4 * faults_) != 0) && idle->validate(context);
  }
  /// Makes each `create` fail permanently from now on, as after a change of the password.
  void lock_out(bool on) { common_->is_locked_out = on; }

  static bool reset(connection& used) { return used->reset(); }
  void destroy(connection& ended, lido::destroy_reason /*reason*/) noexcept {
    --all_->alive;
    if (is_sabotaged_ && next() % 16 == 0) {
      (void)ended.release();  // NOLINT(bugprone-unused-return-value): to see that it is noticed
    }
  }

 private:
  /// The state that all copies share.
  struct common {
    std::atomic<unsigned> calls{1};
    std::atomic<unsigned> made{0};
    std::atomic<bool> is_locked_out{false};
  };

  struct timer {
    explicit timer(record& all) : all_(all) {}
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
    ~timer() { all_.note_connect(clock::now() - begin_, create_timeout); }

   private:
    record& all_;
    clock::time_point begin_ = clock::now();
  };

  void throw_sometimes(unsigned draw) {
    if (common_->is_locked_out || draw % (8 * faults_) == 0) {
      ++all_->permanent_failures;
      throw lido::permanent_failure("thrown for good");
    }
    if (draw % faults_ == 0) {
      ++all_->thrown_creates;
      throw std::runtime_error("thrown at random");
    }
  }

  /// Waits like a connect without an answer, but heeds the context.
  static void wait_for_the_end(const lido::create_context& context) {
    while (!context.stop.stop_requested() && clock::now() < context.deadline) {
      std::this_thread::sleep_for(1ms);
    }
  }

  [[nodiscard]] unsigned next() { return common_->calls++ * 0x9E3779B9U >> 16U; }

  backend* to_;
  record* all_;
  unsigned faults_;
  bool is_sabotaged_;
  std::shared_ptr<common> common_ = std::make_shared<common>();
};

/// How much later a wait may end in a pool without threads, where an acquire or tick may have to
/// run `create` for others first.
constexpr std::chrono::milliseconds slack_without_threads = 3500ms;

/// What differs between pools.
struct habits {
  lido::maintenance maintenance = lido::maintenance::background;
  std::chrono::milliseconds slack{0};
};

inline habits draw_habits(stress::random& random) {
  habits drawn;
  if (random() % 3 == 0) {
    drawn.maintenance = lido::maintenance::by_tick;
    drawn.slack = slack_without_threads;
  }
  return drawn;
}

/// A pool and, if it needs one, the thread that calls its tick.
class subject_pool {
 public:
  subject_pool(const random_factory& factory, const lido::resource_pool_options& options,
               const habits& habits)
      : pool_(factory, options), habits_(habits) {
    if (habits.maintenance == lido::maintenance::by_tick) {
      ticker_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          pool_.tick();
          std::this_thread::sleep_for(2ms);
        }
      });
    }
  }
  pool_type* operator->() { return &pool_; }
  pool_type& operator*() { return pool_; }
  [[nodiscard]] std::chrono::milliseconds slack() const { return habits_.slack; }

 private:
  pool_type pool_;
  habits habits_;
  std::jthread ticker_;  // last: it uses the pool
};

class subject {
 public:
  subject(random_factory factory, unsigned size, stress::random random)
      : factory_(std::move(factory)), size_(size), random_(random) {
    pool_ = make();
  }

  /// Returns the present pool, which may be closed at any time.
  [[nodiscard]] std::shared_ptr<subject_pool> pool() {
    const std::lock_guard guard(mutex_);
    return pool_;
  }
  [[nodiscard]] unsigned size() const { return size_; }
  [[nodiscard]] jumping_clock& time() { return time_; }
  void lock_out(bool on) { factory_.lock_out(on); }

  /// Closes the pool, and if `again` puts another in its place. Reports what is left of the old one
  /// after ample time.
  lido::close_report reopen(bool again) {
    const std::shared_ptr<subject_pool> old = pool();
    if (again) {
      const std::lock_guard guard(mutex_);
      pool_ = make();
    }
    return (*old)->close(30s);
  }

 private:
  [[nodiscard]] std::shared_ptr<subject_pool> make() {
    const habits drawn = draw_habits(random_);
    return std::make_shared<subject_pool>(
        factory_,
        lido::resource_pool_options{.max_size = size_,
                                    .name = "subject",
                                    .create_timeout = create_timeout,
                                    .validate_timeout = 100ms,
                                    .max_uses = 500,
                                    .validate_if_idle_longer_than = 10ms,
                                    .retry_first = 2ms,
                                    .retry_longest = 20ms,
                                    .maintenance = drawn.maintenance,
                                    .clock = &time_},
        drawn);
  }

  random_factory factory_;
  unsigned size_;
  stress::random random_;
  jumping_clock time_;
  std::mutex mutex_;
  std::shared_ptr<subject_pool> pool_;
};

}  // namespace chaos
