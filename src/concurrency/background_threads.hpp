/// @file
/// Internal. The threads that pools share, or that one pool owns.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "lido/base/deadline_heap.hpp"
#include "lido/base/nanos.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/concurrency/parking.hpp"
#include "pool_thread.hpp"
#include "wait_word.hpp"

namespace lido::inline v0::detail {

/// Tags for the two heaps that can contain a user of the threads.
struct alarm_tag {};
struct ready_tag {};

/// What the threads call on behalf of one pool. They call each function with their mutex held, and
/// destroy its result with the mutex unlocked.
class background_user : public heap_hook<background_user, alarm_tag>,
                        public heap_hook<background_user, ready_tag> {
 public:
  using lock = std::unique_lock<plain_mutex>;

  background_user() noexcept = default;
  background_user(const background_user&) = delete;
  background_user& operator=(const background_user&) = delete;

  /// Runs one task with the mutex unlocked.
  [[nodiscard]] virtual std::shared_ptr<void> run_next(lock& guard) noexcept = 0;
  /// Does what is due at `now`, perhaps with the mutex unlocked.
  [[nodiscard]] virtual std::shared_ptr<void> on_alarm(lock& guard, nanos now) noexcept = 0;

 protected:
  ~background_user() = default;
};

/// A timekeeping thread, and workers that run tasks. The `background_user` of each pool joins these
/// threads, gives them tasks, and finally leaves them. No thread is started before there is a task,
/// and each thread ends after some time without a task. Once the last user has left, all threads
/// have ended, except those in user code. A thread in user code ends as soon as that code has
/// returned.
///
/// Each user limits how many workers its pool may use at once. A pool whose tasks hang therefore
/// does not block other pools: further workers are started for the other pools.
class background_threads : public std::enable_shared_from_this<background_threads> {
 public:
  using lock = background_user::lock;

  explicit background_threads(bool is_shared) noexcept : is_shared_(is_shared) {}
  background_threads(const background_threads&) = delete;
  background_threads& operator=(const background_threads&) = delete;
  ~background_threads() = default;

  /// Joins the threads that all pools of the process share, or new threads if `is_shared` is false.
  /// Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<background_threads> join(bool is_shared);
  /// Undoes one `join`. Called after the user has forgotten its alarm. The last call ends the
  /// threads, but does not wait for a thread that is running a task: such a thread ends after its
  /// task.
  void leave() noexcept;

  /// Returns the mutex that guards the threads. The functions below require that it is held.
  [[nodiscard]] plain_mutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] bool has_workers() const noexcept { return !workers_.empty(); }
  [[nodiscard]] bool has_timer() const noexcept { return timer_.is_running; }
  [[nodiscard]] bool has_any() const noexcept { return has_workers() || has_timer(); }
  [[nodiscard]] bool is_timer() const noexcept {
    return timer_.thread.get_id() == this_pool_thread();
  }
  /// Notes that `tasks` tasks of a user may begin. `before` is the number of tasks passed by the
  /// last call for this user. A user that is already in line keeps its turn.
  void offer(background_user& one, std::uint32_t tasks, std::uint32_t before) noexcept;
  /// Takes a user out of the line, since one of its tasks begins. The next `offer` puts the
  /// user at the end of the line.
  void end_turn(background_user& one) noexcept { ready_.remove(one); }
  /// Picks an idle worker to be woken, or starts a new one, unless enough workers are about to run.
  /// Returns false if no worker could be started. Sets `called` to the word of the worker that the
  /// caller must wake after unlocking the mutex, or to null.
  [[nodiscard]] bool call_worker(sleep_word& called) noexcept;
  /// Arranges for a user's `on_alarm` to be called when the steady clock reaches `at`, or
  /// earlier. Returns the word of the thread that the caller must wake, or null.
  [[nodiscard]] sleep_word plan(background_user& one, nanos at) noexcept;
  void forget_alarm(background_user& one) noexcept { alarms_.remove(one); }

 private:
  struct worker {
    pool_thread thread;
    atomic<std::uint32_t> word{0};  ///< changes when the worker has to wake up
    worker* next_idle = nullptr;
    bool is_idle = false;
    bool is_coming = true;  ///< woken or started, but not running yet
    bool is_busy = false;   ///< runs a task, or user code that follows the task
  };
  struct timekeeper {
    pool_thread thread;
    atomic<std::uint32_t> word{0};  ///< changes when the thread has to check its alarms again
    nanos sleeps_until = 0;         ///< 0 while the thread is awake
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
  std::uint32_t users_ = 1;  // users that have joined; guarded by the process-wide mutex
  plain_mutex mutex_;
  deadline_heap<background_user, alarm_tag> alarms_;
  // Users in line, by turn; each turn runs one task.
  deadline_heap<background_user, ready_tag> ready_;
  std::int64_t turn_ = 0;
  std::uint32_t offered_ = 0;  // tasks that may begin
  std::uint32_t coming_ = 0;   // workers that were woken or started, but are not running yet
  std::list<worker> workers_;
  // A stack of idle workers. The worker that became idle last is woken first, so that the others
  // can end.
  worker* idle_ = nullptr;
  std::uint32_t idle_count_ = 0;
  timekeeper timer_;
  pool_thread ended_;  // the last thread that ended of its own accord
  bool stopping_ = false;
};

}  // namespace lido::inline v0::detail
