// Runs tasks in `tick`.
#include <mutex>

#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/resource/pool_core.hpp"
#include "task_runner.hpp"

namespace lido::detail {

/// Keeps tasks until a thread of the user runs them.
class manual_runner final : public task_runner {
 public:
  explicit manual_runner(pool_core& core) noexcept : core_(core) {}

  void post(effects& out, bool /*all*/) noexcept override {
    const std::lock_guard guard(mutex_);
    tasks_.append(out.start);
  }
  void plan(nanos /*at*/) noexcept override {}
  void run_posted() noexcept override {
    while (pool_slot* const slot = next()) {
      core_.run_task(*slot);
      const std::lock_guard guard(mutex_);
      --busy_;
    }
  }
  [[nodiscard]] std::size_t busy() noexcept override {
    const std::lock_guard guard(mutex_);
    return busy_;
  }
  /// Another thread may be about to leave a tick.
  [[nodiscard]] bool wait_until_idle(const deadline& until) noexcept override {
    while (busy() != 0 && !until.passed()) {
      yield_thread();
    }
    return busy() == 0;
  }
  void stop() noexcept override {}

 private:
  pool_slot* next() noexcept {
    const std::lock_guard guard(mutex_);
    pool_slot* const slot = tasks_.pop();
    busy_ += slot != nullptr ? 1 : 0;
    return slot;
  }

  pool_core& core_;
  plain_mutex mutex_;
  slot_queue tasks_;
  std::size_t busy_ = 0;
};

std::unique_ptr<task_runner> make_manual_runner(pool_core& core) {
  return std::make_unique<manual_runner>(core);
}

}  // namespace lido::detail
