/// @file
/// Internal. One thread or callback that waits for a resource.
#pragma once

#include <chrono>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/resource/acquire_error.hpp"
#include "lido/resource/resource_life.hpp"
#include "lido/resource/soonest_first.hpp"

namespace lido::detail {

class resource_slot;

/// A resource, and the ticket that says whose turn with it this is.
struct resource_grant {
  resource_slot* slot = nullptr;
  life_word ticket;
};
// Returned in registers: through memory, an acquire with its release takes half as long again.
static_assert(sizeof(resource_grant) <= 16);

/// A grant of what was idle, and whether it needs no second look.
struct resource_loan {
  resource_grant grant;
  bool is_fit = false;
};

/// waiting: awake. asleep: has to be woken. Both end in given or in cancelled, for good.
enum class wait_state : std::uint32_t { waiting, asleep, given, cancelled };

/// A place in the queue of a pool, for one wait.
///
/// Whoever decides how the wait ends does so by a compare-and-swap on one word: the giver, the
/// waiter whose time is up, a stop token, or the end of the pool. So a resource is given exactly if
/// the waiter knows that it has it, and who gave up cannot be given one.
///
/// Memory ordering: what happened to the resource before it was given, the waiter sees (1, 2).
/// Progress: everything but `sleep` is lock-free.
///
/// In one pair of cache lines: of thousands that wait none is near when its turn comes.
class alignas(no_false_sharing) resource_waiter : public heap_links<resource_waiter> {
 public:
  /// `tell` is called once the wait has ended, by who ended it, without locks; null: a thread
  /// sleeps instead. `thread` is who waits, 0 for nobody.
  using delivery = void (*)(resource_waiter&) noexcept;
  explicit resource_waiter(deadline until, std::uint32_t thread, delivery tell = nullptr) noexcept
      : until_(until), thread_(thread), deliver_(tell) {}
  resource_waiter(const resource_waiter&) = delete;
  resource_waiter& operator=(const resource_waiter&) = delete;
  ~resource_waiter() = default;

  /// The two ends of a wait. False: it had ended already. `was_asleep`: must be woken.
  [[nodiscard]] bool give(const resource_loan& loan, bool& was_asleep) noexcept;
  [[nodiscard]] bool cancel(acquire_failure cause, bool& was_asleep) noexcept;

  /// Cancels, and wakes. Any thread, while the waiter lives.
  bool cancel_and_wake(acquire_failure cause) noexcept;

  /// Wakes it without an end, so that it looks around. Under the queue's mutex.
  [[nodiscard]] bool poke() noexcept;

  [[nodiscard]] bool open() const noexcept { return is_open(bits()); }
  [[nodiscard]] bool asleep() const noexcept { return state_of(bits()) == wait_state::asleep; }
  [[nodiscard]] bool given() const noexcept { return state_of(bits()) == wait_state::given; }

  /// Under the queue's mutex: whether the time is not over that begins with the first such
  /// question.
  [[nodiscard]] bool may_be_overtaken(std::chrono::nanoseconds time) noexcept {
    if (!called_) {
      called_ = true;
      overtaken_until_ = deadline::after(time);
    }
    return !overtaken_until_.passed();
  }

  /// Under the queue's mutex: wakes who sleeps, so that it looks around. False: it is busy with
  /// something else, and will not. `must_wake`: the caller has to wake it.
  [[nodiscard]] bool call(bool& must_wake) noexcept {
    must_wake = poke();
    on_its_way_ |= must_wake;
    return on_its_way_;
  }
  /// Under the queue's mutex, by itself.
  void has_looked() noexcept { on_its_way_ = false; }

  /// Under the queue's mutex, by itself: others look after its time, until they remind it.
  void leave_time_to_others() noexcept { leaves_time_ = true; }
  /// Under the queue's mutex, by others: wakes it, so that it looks after its time itself from then
  /// on. False: it is awake, may be about to fall asleep, and has to be reminded later.
  [[nodiscard]] bool remind() noexcept {
    const bool reminded = poke();
    is_reminded_ |= reminded;
    return reminded;
  }
  /// Under the queue's mutex: whether others still look after its time.
  [[nodiscard]] bool is_watched() const noexcept { return leaves_time_ && !is_reminded_; }

  /// Under the queue's mutex: it is busy with something else, and keeps its place.
  void set_aside(bool aside) noexcept { is_aside_ = aside; }
  [[nodiscard]] bool is_aside() const noexcept { return is_aside_; }

  /// Waits once more. Only while it is in no queue and nobody else knows it.
  // relaxed (whole function): the mutex of the queue publishes it
  void reopen() noexcept {
    since_ = std::chrono::steady_clock::now();  // the time before is counted already
    state_.store(static_cast<std::uint32_t>(wait_state::waiting), std::memory_order_relaxed);
  }

  /// Announces that the thread is about to sleep, or that it does not after all.
  void begin_sleep() noexcept { swap(wait_state::waiting, wait_state::asleep); }
  void end_sleep() noexcept { swap(wait_state::asleep, wait_state::waiting); }

  /// After begin_sleep: until somebody ends the wait or pokes; or for no reason. False: the time is
  /// over.
  [[nodiscard]] bool sleep(const deadline& until) const noexcept {
    return park(state_, static_cast<std::uint32_t>(wait_state::asleep), until);
  }

  /// Until its end. Who was reminded, or woken for nothing, looks after its time itself.
  void sleep_until_ended() noexcept {
    for (deadline alarm = leaves_time_ ? deadline() : until_; open(); alarm = until_) {
      begin_sleep();
      if (!sleep(alarm)) {
        bool asleep = false;
        (void)cancel(acquire_failure::timed_out, asleep);
      }
    }
  }

  /// What was given. Requires: given().
  [[nodiscard]] const resource_loan& loan() const noexcept { return loan_; }
  /// Why nothing was. Requires: ended, not given.
  [[nodiscard]] acquire_failure cause() const noexcept {
    return static_cast<acquire_failure>(bits() >> cause_shift);
  }

  [[nodiscard]] const deadline& until() const noexcept { return until_; }
  [[nodiscard]] std::uint32_t thread() const noexcept { return thread_; }
  /// When it began to wait.
  [[nodiscard]] std::chrono::steady_clock::time_point since() const noexcept { return since_; }
  [[nodiscard]] delivery deliver() const noexcept { return deliver_; }
  [[nodiscard]] const atomic<std::uint32_t>* sleep_word() const noexcept { return &state_; }

 private:
  friend class waiter_list;

  static constexpr std::uint32_t state_mask = 0xFF;
  static constexpr unsigned cause_shift = 8;

  [[nodiscard]] static constexpr wait_state state_of(std::uint32_t bits) noexcept {
    return static_cast<wait_state>(bits & state_mask);
  }
  [[nodiscard]] static constexpr bool is_open(std::uint32_t bits) noexcept {
    return state_of(bits) == wait_state::waiting || state_of(bits) == wait_state::asleep;
  }

  [[nodiscard]] std::uint32_t bits() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-CAS (2), so the resource is visible
    return state_.load(std::memory_order_acquire);
  }

  [[nodiscard]] bool end(std::uint32_t last, bool& was_asleep) noexcept;
  bool swap(wait_state from, wait_state to) noexcept;

  bool linked_ = false;
  bool called_ = false;
  bool on_its_way_ = false;   // to look around
  bool is_aside_ = false;     // and is given nothing
  bool leaves_time_ = false;  // to others
  bool is_reminded_ = false;  // that they do not keep it any more
  deadline overtaken_until_;
  deadline until_;
  atomic<std::uint32_t> state_{static_cast<std::uint32_t>(wait_state::waiting)};
  std::uint32_t thread_;
  delivery deliver_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  resource_loan loan_;  // written under the mutex before (2)
  // Of the list, under the mutex.
  resource_waiter* next_ = nullptr;
  resource_waiter* previous_ = nullptr;
};

/// First come, first served. Under the pool's mutex. Removing one from the middle is as cheap as
/// from an end.
class waiter_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] resource_waiter* first() const noexcept { return first_; }
  [[nodiscard]] static resource_waiter* after(const resource_waiter& waiter) noexcept {
    return waiter.next_;
  }

  void push_back(resource_waiter& waiter) noexcept;
  void push_front(resource_waiter& waiter) noexcept;
  [[nodiscard]] static bool contains(const resource_waiter& waiter) noexcept {
    return waiter.linked_;
  }
  /// False: it was not in the list.
  bool remove(resource_waiter& waiter) noexcept;

 private:
  resource_waiter* first_ = nullptr;
  resource_waiter* last_ = nullptr;
  std::uint32_t size_ = 0;
};

/// Those whose wait was ended under the mutex, to be told outside of it. All but the last thread
/// are woken at once, for want of a place to keep them: they may be gone as soon as they have
/// ended.
class ended_waiters {
 public:
  /// The callbacks that this thread is calling. One that releases what it was given ends the wait
  /// of the next, which is put here: were it called at once, ten thousand would need a deep stack.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
  static constinit thread_local waiter_list* delivering;

  ended_waiters() noexcept = default;
  ended_waiters(const ended_waiters&) = delete;
  ended_waiters& operator=(const ended_waiters&) = delete;
  /// Outside the mutex.
  ~ended_waiters();

  /// A thread that has to be woken. Only its address is kept.
  void wake(const atomic<std::uint32_t>* word) noexcept;
  /// Calls the callbacks that wait for the one that this thread is in: it is about to sleep, and
  /// might sleep for what they have been given.
  static void deliver_before_a_sleep() noexcept;

  /// Whether there are callbacks to be called.
  [[nodiscard]] bool has_callbacks() const noexcept { return !callbacks_.empty(); }

  /// A callback; kept in a list of their own.
  void deliver(resource_waiter& waiter) noexcept { callbacks_.push_back(waiter); }

 private:
  const atomic<std::uint32_t>* last_ = nullptr;
  waiter_list callbacks_;
};

struct ends_sooner {
  bool operator()(const resource_waiter& left, const resource_waiter& right) const noexcept {
    return left.until().nanoseconds() < right.until().nanoseconds();
  }
};

}  // namespace lido::detail
