/// @file
/// The pool that is harmed: its factory, its clock, and that it is closed and opened again.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "lido/resource_pool.hpp"
#include "peers.hpp"
#include "record.hpp"

namespace chaos {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals
using connection = std::unique_ptr<link>;
using pool_type = lido::resource_pool<connection>;
using lease_type = lido::resource_lease<connection>;

/// Goes on with real time, and jumps.
class jumping_clock : public lido::time_source {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return clock::now().time_since_epoch() + std::chrono::nanoseconds(ahead_);
  }
  void jump(std::chrono::nanoseconds by) { ahead_ += by.count(); }

 private:
  std::atomic<std::int64_t> ahead_{0};
};

/// Throws at random, and takes its time at random.
class random_factory {
 public:
  random_factory(backend& to, record& all, unsigned faults, bool is_sabotaged)
      : to_(&to), all_(&all), faults_(faults), is_sabotaged_(is_sabotaged) {}

  connection create(const lido::create_context& context) {
    const unsigned draw = next();
    if (faults_ != 0 && draw % faults_ == 0) {
      throw std::runtime_error("thrown at random");
    }
    if (draw % 16 == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(draw / 16 % 30));
    }
    connection made = to_->connect(context);
    ++all_->alive;
    return made;
  }
  bool validate(connection& idle, const lido::create_context& context) {
    return (faults_ == 0 || next() % (4 * faults_) != 0) && idle->validate(context);
  }
  static bool reset(connection& used) { return used->reset(); }
  void destroy(connection& ended, lido::destroy_reason /*reason*/) noexcept {
    --all_->alive;
    if (is_sabotaged_ && next() % 16 == 0) {
      (void)ended.release();  // NOLINT(bugprone-unused-return-value): to see that it is noticed
    }
  }

 private:
  [[nodiscard]] unsigned next() { return (*calls_)++ * 0x9E3779B9U >> 16U; }

  backend* to_;
  record* all_;
  unsigned faults_;
  bool is_sabotaged_;
  std::shared_ptr<std::atomic<unsigned>> calls_ = std::make_shared<std::atomic<unsigned>>(1);
};

class subject {
 public:
  subject(random_factory factory, unsigned size) : factory_(std::move(factory)), size_(size) {
    pool_ = make();
  }

  /// The present one; may be closed at any time.
  [[nodiscard]] std::shared_ptr<pool_type> pool() {
    const std::lock_guard guard(mutex_);
    return pool_;
  }
  [[nodiscard]] unsigned size() const { return size_; }
  [[nodiscard]] jumping_clock& time() { return time_; }

  /// Closes the pool, and puts another in its place. What is left of the old one when everybody has
  /// had plenty of time.
  lido::close_report reopen(bool again) {
    const std::shared_ptr<pool_type> old = pool();
    if (again) {
      const std::lock_guard guard(mutex_);
      pool_ = make();
    }
    return old->close(30s);
  }

 private:
  [[nodiscard]] std::shared_ptr<pool_type> make() const {
    return std::make_shared<pool_type>(
        factory_, lido::resource_pool_options{.max_size = size_,
                                              .name = "subject",
                                              .create_timeout = 300ms,
                                              .validate_timeout = 100ms,
                                              .max_uses = 500,
                                              .validate_if_idle_longer_than = 10ms,
                                              .retry_first = 2ms,
                                              .retry_longest = 20ms,
                                              .clock = &time_});
  }

  random_factory factory_;
  unsigned size_;
  jumping_clock time_;
  std::mutex mutex_;
  std::shared_ptr<pool_type> pool_;
};

}  // namespace chaos
