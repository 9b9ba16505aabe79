/// @file
/// LIDO_POOL_THREAD_SEAM of the model build: a thread that a pool starts is one that a scenario has
/// set aside for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "checker/execution.hpp"

namespace model {

/// What a pool has a thread for.
struct pool_work {
  std::function<void()> body;
  thread_id by = most_threads;  ///< the thread that does it; most_threads: none yet
  bool has_ended = false;
  std::int32_t passes_on;  ///< what was done before a start or an end

  void pass_on();
  void take_over() const;
};

/// Called in thread 0: this number of threads will call `run_pool_thread`. Starts beyond that fail.
/// So do starts of timekeepers, unless `keeps_time` is true. There is no clock, so all time limits
/// of such a scenario must be in the past.
void set_threads_aside(unsigned count, bool keeps_time = false);
/// Does what a pool starts a thread for, once. Returns without if `dismiss_threads` is called.
void run_pool_thread();
void dismiss_threads();

/// A thread with the interface of std::thread.
class pool_thread {
 public:
  using id = thread_id;
  pool_thread() noexcept = default;
  explicit pool_thread(std::shared_ptr<pool_work> work) noexcept : work_(std::move(work)) {}
  [[nodiscard]] bool joinable() const noexcept { return work_ != nullptr; }
  [[nodiscard]] id get_id() const noexcept { return work_ != nullptr ? work_->by : most_threads; }
  void detach() noexcept { work_.reset(); }
  void join();
  void swap(pool_thread& other) noexcept { work_.swap(other.work_); }

 private:
  std::shared_ptr<pool_work> work_;
};

[[nodiscard]] pool_thread start_pool_thread(std::string_view name, std::function<void()> body);

}  // namespace model

namespace lido::inline v0::detail {

using model::pool_thread;
using model::start_pool_thread;

[[nodiscard]] inline model::thread_id this_pool_thread() noexcept {
  return model::execution::now().self();
}

}  // namespace lido::inline v0::detail
