/// @file
/// Internal. The threads that pools share, or that one pool owns.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "effects.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "pool_thread.hpp"

namespace lido::inline v0::detail {

class task_runner;

/// Names of the two heaps that a runner can be in.
struct alarm_tag {};
struct ready_tag {};

/// A thread that keeps time, and workers that run tasks. The runner of each pool joins them, gives
/// them tasks, and leaves. None is started before there is a task, and each ends after a while
/// without one. When the last runner leaves, all have ended, except those in user code, which end
/// after it.
///
/// The runners limit how many workers a pool may have at once. So a pool whose tasks hang does not
/// block others: for those, further workers are started.
class background_threads : public std::enable_shared_from_this<background_threads> {
 public:
  using lock = std::unique_lock<plain_mutex>;

  explicit background_threads(bool is_shared) noexcept : is_shared_(is_shared) {}
  background_threads(const background_threads&) = delete;
  background_threads& operator=(const background_threads&) = delete;
  ~background_threads() = default;

  /// Joins those that all pools of the process share, or new ones. Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<background_threads> join(bool is_shared);
  /// Undoes one `join`; the runner is in no heap by then. The last call ends the threads. A thread
  /// in a task ends after it, and is not waited for.
  void leave() noexcept;
  /// Begins anew in the child of a fork, which has none of the threads.
  static void note_fork() noexcept;

  /// Returns the mutex of the threads. The functions below are called while it is locked.
  [[nodiscard]] plain_mutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] bool has_workers() const noexcept { return !workers_.empty(); }
  [[nodiscard]] bool has_timer() const noexcept { return timer_.is_running; }
  [[nodiscard]] bool has_any() const noexcept { return has_workers() || has_timer(); }
  [[nodiscard]] bool is_timer() const noexcept {
    return timer_.thread.get_id() == this_pool_thread();
  }
  /// Notes that `tasks` tasks of a runner may begin; the last call for it noted `before`. A runner
  /// in the row keeps its turn.
  void offer(task_runner& one, std::uint32_t tasks, std::uint32_t before) noexcept;
  /// Notes that a task of a runner begins: with the next `offer` the runner is the last in the row.
  void end_turn(task_runner& one) noexcept { ready_.remove(one); }
  /// Calls an idle worker, or starts one, unless enough are on their way. Returns false if none
  /// could be started. The caller wakes `called`, if it is not null, without the mutex.
  [[nodiscard]] bool call_worker(sleep_word& called) noexcept;
  /// Has `on_alarm` of a runner called at a moment of the steady clock, or before. Returns what
  /// the caller has to wake, or null.
  [[nodiscard]] sleep_word plan(task_runner& one, nanos at) noexcept;
  void forget_alarm(task_runner& one) noexcept { alarms_.remove(one); }

 private:
  struct worker {
    pool_thread thread;
    atomic<std::uint32_t> word{0};  ///< changes when it is called
    worker* next_idle = nullptr;
    bool is_idle = false;
    bool is_coming = true;  ///< called, and not yet running
    bool is_busy = false;   ///< in a task, or in user code after it
  };
  struct timekeeper {
    pool_thread thread;
    atomic<std::uint32_t> word{0};  ///< changes when the thread has to look again
    nanos sleeps_until = 0;         ///< 0: it is awake
    bool is_running = false;
    bool is_busy = false;
  };

  void stop() noexcept;
  void keep_time() noexcept;
  void work(worker& self) noexcept;
  [[nodiscard]] bool wait_for_task(worker& self, lock& guard) noexcept;
  void retire(pool_thread& own, lock& guard) noexcept;
  [[nodiscard]] bool start_worker() noexcept;
  [[nodiscard]] pool_thread thread_of(worker& one);
  void start_timer() noexcept;
  static void wake(atomic<std::uint32_t>& word) noexcept;
  static void change(atomic<std::uint32_t>& word) noexcept;

  const bool is_shared_;
  std::uint32_t runners_ = 1;  // number that have joined; under the mutex of the process
  plain_mutex mutex_;
  deadline_heap<task_runner, alarm_tag> alarms_;
  deadline_heap<task_runner, ready_tag> ready_;  // the row, by turn: each gets one task done
  std::int64_t turn_ = 0;
  std::uint32_t offered_ = 0;  // tasks that may begin
  std::uint32_t coming_ = 0;   // workers on their way
  std::list<worker> workers_;
  worker* idle_ = nullptr;  // the last one to fall idle is called first, so that others can end
  std::uint32_t idle_count_ = 0;
  timekeeper timer_;
  pool_thread ended_;  // the last one that has ended by itself
  bool stopping_ = false;
};

}  // namespace lido::inline v0::detail
