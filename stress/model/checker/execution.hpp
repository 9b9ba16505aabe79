/// @file
/// The current execution: its threads, one of which is running, and its memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checker/chooser.hpp"
#include "checker/code_location.hpp"
#include "checker/fiber.hpp"
#include "checker/memory.hpp"
#include "checker/thread_words.hpp"
#include "checker/trace.hpp"

namespace model {

/// Thrown in thread 0 to leave a scenario that has failed. The execution holds the reason.
struct stopped {};

/// A thread's function and its argument.
struct task {
  void (*function)(void*);
  void* argument;
};

/// Runs threads as fibers under the control of a chooser. There is only one object,
/// `execution::now()`.
///
/// A scenario runs in thread 0 and may call `run_threads` any number of times. Only during such a
/// call is there more than one thread. A thread can lose its turn at any access to shared memory,
/// and nowhere else.
class execution {
 public:
  // Inline, since each access calls it several times.
  [[gnu::always_inline]] static execution& now() noexcept {
    static execution one;
    return one;
  }

  /// Runs `scenario` once. Returns whether all checks held.
  [[nodiscard]] bool run(void (*scenario)(), chooser& choices, trace* events);
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  [[nodiscard]] const schedule& choices() const noexcept { return made_; }
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }

  // ---- for scenarios ---------------------------------------------------------------------------

  /// Starts the tasks as threads 1, 2, ... and returns when all threads have ended.
  void run_threads(std::span<const task> tasks);
  /// Reports a failure, which ends the execution here.
  void fail(std::string what);
  /// Returns whether a possible failure occurs, or which of `count` possible events happens.
  [[nodiscard]] unsigned choose(question asked, unsigned count);
  [[nodiscard]] thread_id self() const noexcept { return current_; }
  /// Returns the threads other than the running one.
  [[nodiscard]] std::vector<thread_id> others() const;
  [[nodiscard]] bool has_ended(thread_id who) const { return threads_[who]->now == state::ended; }
  /// Returns whether all threads but one were stopped, so that one thread had to make progress
  /// alone.
  [[nodiscard]] bool had_solo() const noexcept { return had_solo_; }

  // ---- for code that stands in for the system --------------------------------------------------

  /// Marks the point before an access to shared memory. If `free` is true, losing the turn here
  /// costs no preemption.
  void point(bool free = false);
  /// Lets every other thread that can run do at least one step, and lets time pass.
  void rest();
  /// Blocks until `wake(on)` is called. If `timed` is true, a time-out may come first; returns
  /// false in that case.
  bool block(const void* on, bool timed);
  void wake(const void* on) noexcept;
  /// Arranges a call to `function(argument)` after the running thread has finished its task. Each
  /// thread can have one such function.
  void at_thread_exit(void (*function)(void*), void* argument);
  /// Gives each thread its own copy of a word, which starts with the initial value of the word.
  template <class T>
  void keep_for_each_thread(T& word) noexcept {
    local_.keep(word);
  }

  [[nodiscard]] class memory& memory() noexcept { return memory_; }
  /// Returns whether accesses are checked; they are not while a failed execution is being cleaned
  /// up.
  [[nodiscard]] bool checks() const noexcept { return !failed_; }
  /// Returns the number of this execution, for objects that outlive it.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] trace* events() noexcept { return trace_; }

  /// Limit of steps in an execution. No execution needs so many steps: one that exceeds the limit
  /// loops forever.
  static constexpr std::size_t most_steps = 40'000;
  /// Number of steps that suffices for one thread to complete its work if no other thread
  /// interferes. Each of its acquires may even wait, until it gives up, for a stopped thread that
  /// has slots in transit.
  static constexpr std::size_t most_solo_steps = 15'000;

 private:
  enum class state : std::uint8_t { unused, ready, resting, blocked, timed, ended };

  struct thread {
    fiber context;
    task work{};
    task exit{};
    state now = state::unused;
    bool woken = false;
    const void* blocked_on = nullptr;
    unsigned waits_for = 0;  ///< resting: a bit for each thread that must take a step first
    thread_words::values local{};

    explicit thread(std::size_t stack_bytes) : context(stack_bytes) {}
    thread() = default;
  };

  execution();
  void clear();
  void clear_away_threads();
  static void begin_thread(void* self);
  void end_thread();
  void pick_next(bool free);
  [[nodiscard]] std::size_t list_candidates(std::array<thread_id, most_threads>& found);
  [[nodiscard]] bool can_run(thread_id who) noexcept;
  void no_candidate();
  void update_solo();
  void change_to(thread_id next);
  void step_done_by(thread_id who) noexcept;

  class memory memory_;
  std::array<std::unique_ptr<thread>, most_threads> threads_;
  thread_id count_ = 0;
  thread_id current_ = 0;
  chooser* chooser_ = nullptr;
  trace* trace_ = nullptr;
  schedule made_;
  std::size_t steps_ = 0;
  std::size_t solo_steps_ = 0;
  thread_id solo_ = 0;
  bool had_solo_ = false;
  bool failed_ = false;
  std::string failure_;
  std::uint64_t number_ = 0;
  thread_words local_;
};

}  // namespace model
