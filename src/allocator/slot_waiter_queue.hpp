/// @file
/// Internal. A FIFO queue of threads and callbacks that wait for an item, and the way in which they
/// are given items.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "../concurrency/pool_scope.hpp"
#include "../concurrency/wait_tuning.hpp"
#include "../concurrency/wait_word.hpp"
#include "lido/base/assert.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// One wait in a queue. The waiter of a thread lies on the stack of that thread. The waiter of a
/// callback lies on the heap.
///
/// A wait_word decides how the wait ends. An item is given exactly if the waiter knows that it
/// holds the item. A waiter that was cancelled, or whose deadline came first, is given nothing.
///
/// Memory ordering: as for wait_word; the waiter sees everything that was done to the item before
///   it was given.
/// Progress: everything except `wait` is lock-free.
class slot_waiter : public callback_wait {
 public:
  /// Makes the waiter of a thread or, if `to` is not null, of a callback.
  explicit slot_waiter(delivery to = nullptr) noexcept : callback_wait(to) {}

  /// Ends the wait without an item. Returns false if the wait has already ended. Any thread may
  /// call this while the waiter exists.
  bool cancel() noexcept {
    const wait_word::ending before = word_.cancel(0);
    if (before == wait_word::ending::asleep) {
      unpark(word_.address());
    }
    return before != wait_word::ending::too_late;
  }

  /// Blocks until the wait has ended. Returns false if the deadline came first. The waiter spins
  /// before it sleeps. It spins for longer if it is the next to be served, and spins again after an
  /// early call. Only a waiting thread may call this.
  [[nodiscard]] bool wait(const deadline& until) noexcept {
    while (!stay_awake(until)) {
      word_.begin_sleep();
      if (!sleep(until)) {
        return ended();
      }
      word_.end_sleep();
    }
    return true;
  }

  /// Returns true if the wait has ended. Called only by the waiter and its queue.
  [[nodiscard]] bool ended() const noexcept { return !word_.open(); }

  /// Returns the item that was given, or null. Only the waiter may call this, after the wait has
  /// ended.
  [[nodiscard]] void* item() const noexcept {
    // relaxed: written before wait_word.hpp (2)
    return word_.given() ? item_.load(std::memory_order_relaxed) : nullptr;
  }

 private:
  friend class slot_waiter_queue;

  /// Spins, and returns true if the wait has ended. The waiter that is served next spins for about
  /// as long as a wake-up takes, so it never wastes more time than that (Karlin, Li, Manasse,
  /// Owicki, SOSP 1991). Other waiters do not spin for so long: they would occupy processors that
  /// threads with slots need.
  [[nodiscard]] bool stay_awake(const deadline& until) noexcept {
    const deadline enough = hears_call() ? until.but_within(wait_tuning::nanoseconds_awake)
                                         : deadline::after(std::chrono::seconds(0));
    bool over = false;
    do {
      for (int spin = 0; spin < wait_tuning::spins_before_sleep && !over; ++spin) {
        cpu_pause();
        over = ended();
      }
    } while (!over && !enough.passed());
    return over;
  }

  /// Returns true if this waiter has become the next to be served since this function was last
  /// called.
  [[nodiscard]] bool hears_call() noexcept {
    // relaxed (2x): a hint; a waiter that misses it sleeps, and is woken
    const bool called = is_next_.load(std::memory_order_relaxed);
    is_next_.store(false, std::memory_order_relaxed);
    return called;
  }

  /// Sleeps until the wait has ended or the waiter is called early. Returns false if the deadline
  /// came first.
  [[nodiscard]] bool sleep(const deadline& until) const noexcept {
    // relaxed: as in hears_call
    while (word_.open() && !is_next_.load(std::memory_order_relaxed)) {
      if (!word_.sleep(until)) {
        return false;
      }
    }
    return true;
  }

  wait_word word_;
  atomic<void*> item_{nullptr};
  atomic<bool> is_next_{false};
  // Used by the queue inside its gate.
  bool called_ = false;  // true if the waiter was called early, before there was an item
  atomic<slot_waiter*> next_{nullptr};
  atomic<slot_waiter*> previous_{nullptr};
  atomic<std::uint32_t> linked_in_{0};  ///< the generation of the queue that contains this waiter
};

/// Decides whether a queue wakes its new first waiter as soon as the waiter before it has been
/// served. A waiter that is called spins for about as long as a wake-up takes, so the next item
/// need not wait for a wake-up. If items stay in use for longer than that, the call is in vain.
/// Calls become rarer after a few such calls in a row. Source: Kashyap, Calciu, Cheng, Min, Kim:
/// Scalable and Practical Locking with Shuffling, SOSP 2019.
///
/// Thread-safety: the same as for the queue that contains it.
class early_call {
 public:
  /// Returns true if the next waiter should be called early. Called each time waiters have been
  /// served.
  [[nodiscard]] bool is_due() noexcept {
    if (left_ > 0) {
      --left_;
      return false;
    }
    left_ = (1U << in_vain_) >> few;
    return true;
  }

  /// Notes that the waiter now being served was called early and has noticed the call. `awake` is
  /// true if the waiter has not gone back to sleep.
  void has_come_for(bool awake) noexcept { in_vain_ = awake ? 0 : (std::min)(in_vain_ + 1, most); }

 private:
  static constexpr unsigned few = 3;
  static constexpr unsigned most = few + 6;  // then, one waiter in 65 is called early

  unsigned in_vain_ = 0;    // successive calls in vain
  std::uint32_t left_ = 0;  // times to serve without an early call
};

/// A list of waiters behind a gate, which admits one thread at a time.
///
/// A thread that has an item to give does not wait at the gate. If another thread is inside, the
/// giver leaves the item where all threads can find it, asks the thread inside to search, and
/// returns. The thread inside searches again before it leaves (as in flat combining: Hendler,
/// Incze, Shavit, Tzafrir, SPAA 2010). Only threads that begin to wait for an item, or give up,
/// wait at the gate.
///
/// Invariants
///  I1 `length_` is the number of linked waiters; it changes only inside the gate.
///  I2 A waiter is given an item only inside the gate, by a change of its own word, and after it
///     has been unlinked.
///  I3 A thread that makes an item available reads `length_` afterwards. A waiter searches for
///     items after it has been linked, unless a waiter in front of it has done so and is still
///     linked (`watched_`). Both threads run a full fence between their change and their read, so
///     one of them sees the other (Dekker's pattern).
/// Memory ordering: the gate orders what is done inside it (1 to 4).
/// Progress: `enter` is blocking. The rest is wait-free, except `serve_and_leave`, which continues
///   as long as other threads ask.
class alignas(cache_line) slot_waiter_queue {
 public:
  /// Returns the number of waiters. The number may be out of date.
  [[nodiscard]] std::uint32_t length() const noexcept {
    // relaxed: a hint, or a number for statistics; a caller that relies on it has run the fence of
    // I3
    return length_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool any() const noexcept { return length() != 0; }

  // ---- the gate -------------------------------------------------------------------------------

  /// Waits until no other thread is inside, and enters.
  void enter() noexcept {
    exponential_backoff backoff;
    while (!try_enter()) {
      backoff.wait();
    }
  }

  [[nodiscard]] bool try_enter() noexcept {
    std::uint32_t seen = nobody;
    // (1) - this acquire-CAS synchronizes-with the release-CAS (3): what was done inside is
    // visible. relaxed on failure: nothing is read
    return gate_.compare_exchange_strong(seen, somebody, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// Enters and returns true if no thread is inside. Otherwise asks the thread inside to search for
  /// items once more, and returns false.
  [[nodiscard]] bool enter_or_ask() noexcept {
    // relaxed: only a guess, validated by (2)
    std::uint32_t seen = gate_.load(std::memory_order_relaxed);
    for (;;) {
      // (2) - this acq_rel-CAS synchronizes-with the release-CAS (3), as (1) does, and the
      // acquire-exchange (4), so that the thread inside finds the caller's items. On failure
      // relaxed: the word is again only a guess
      if (gate_.compare_exchange_weak(seen, seen == nobody ? somebody : asked,
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return seen == nobody;
      }
    }
  }

  // ---- inside the gate --------------------------------------------------------------------------

  /// Links `last` at the end of the queue. Returns true if a waiter in front of it already keeps
  /// watch.
  // relaxed (whole function): inside the gate
  [[nodiscard, LIDO_ASSERTS]] bool append(slot_waiter& last) noexcept {
    LIDO_ASSERT(!contains(last), "a waiter joins the queue twice");
    slot_waiter* const before = tail_.load(std::memory_order_relaxed);
    last.previous_.store(before, std::memory_order_relaxed);
    last.linked_in_.store(generation_, std::memory_order_relaxed);
    last.is_next_.store(before == nullptr && several_processors(), std::memory_order_relaxed);
    (before != nullptr ? before->next_ : head_).store(&last, std::memory_order_relaxed);
    tail_.store(&last, std::memory_order_relaxed);
    (void)change_length(1);
    return watched_.load(std::memory_order_relaxed);
  }

  /// Unlinks a waiter. Has no effect if the waiter is not linked.
  // relaxed (whole function): inside the gate
  void remove(slot_waiter& who) noexcept {
    if (!contains(who)) {
      return;
    }
    slot_waiter* const next = who.next_.load(std::memory_order_relaxed);
    slot_waiter* const previous = who.previous_.load(std::memory_order_relaxed);
    (previous != nullptr ? previous->next_ : head_).store(next, std::memory_order_relaxed);
    (next != nullptr ? next->previous_ : tail_).store(previous, std::memory_order_relaxed);
    who.linked_in_.store(0, std::memory_order_relaxed);
    if (change_length(-1) == 1) {
      watched_.store(false, std::memory_order_relaxed);
    }
  }

  /// Notes that `who` has searched for items and found none. Waiters behind it then need not
  /// search.
  // relaxed (whole function): inside the gate
  void keep_watch(const slot_waiter& who) noexcept {
    if (contains(who)) {
      watched_.store(true, std::memory_order_relaxed);
    }
  }

  /// Gives items to waiters as long as there are both items and waiters, and leaves the gate. The
  /// first item is `item`, unless that is null. The next items come from `take()`, until it returns
  /// null. An item for which there is no waiter is passed to `put`. Adds the waiters of callbacks
  /// that were given an item to `calls`. Returns how many items were given.
  template <class Take, class Put>
  std::uint32_t serve_and_leave(void* item, const Take& take, const Put& put,
                                callback_queue& calls) noexcept {
    std::uint32_t given = 0;
    wake_up_call call(calls);
    do {
      given += serve(item, take, call);
      if (item != nullptr) {
        put(std::exchange(item, nullptr));
      }
    } while (!leave());
    return given;
  }

  /// Resets the queue in the child of a fork, where the waiting threads do not exist. Begins a new
  /// generation, since callbacks of the parent may still be cancelled, and must not be unlinked
  /// then. The links are not followed, since a missing thread may have been changing them.
  // relaxed (whole function): there is one thread
  void forget_all() noexcept {
    ++generation_;
    head_.store(nullptr, std::memory_order_relaxed);
    tail_.store(nullptr, std::memory_order_relaxed);
    watched_.store(false, std::memory_order_relaxed);
    length_.store(0, std::memory_order_relaxed);
    gate_.store(nobody, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t nobody = 0;
  static constexpr std::uint32_t somebody = 1;
  static constexpr std::uint32_t asked = 2;

  /// Wakes one sleeping waiter as late as possible: outside the gate, unless another wake-up
  /// follows. Collects callbacks, since user code must not run inside the gate.
  class wake_up_call {
   public:
    explicit wake_up_call(callback_queue& calls) noexcept : calls_(calls) {}
    wake_up_call(const wake_up_call&) = delete;
    wake_up_call& operator=(const wake_up_call&) = delete;
    ~wake_up_call() { next(nullptr); }
    void next(const atomic<std::uint32_t>* word) noexcept {
      if (word_ != nullptr) {
        unpark(word_);
      }
      word_ = word;
    }
    void add(slot_waiter& callback) noexcept { calls_.push_back(callback); }

   private:
    callback_queue& calls_;
    const atomic<std::uint32_t>* word_ = nullptr;
  };

  /// Serves waiters until there is no waiter or no item left. If an item is left in `item`, there
  /// is no waiter for it.
  template <class Take>
  std::uint32_t serve(void*& item, const Take& take, wake_up_call& call) noexcept {
    std::uint32_t given = 0;
    for (slot_waiter* first = first_open(); first != nullptr; first = first_open()) {
      item = item != nullptr ? item : take();
      if (item == nullptr) {
        break;
      }
      if (give(*first, item, call)) {
        item = nullptr;
        ++given;
      }
    }
    if (given > 0) {
      call_next(call);
    }
    return given;
  }

  /// Calls the next waiter early, if recent early calls were useful.
  // relaxed (whole function): inside the gate
  void call_next(wake_up_call& call) noexcept {
    slot_waiter* const next = first_open();
    if (next == nullptr || next->is_callback() || !several_processors() || !early_.is_due()) {
      return;
    }
    next->called_ = true;
    next->is_next_.store(true, std::memory_order_relaxed);
    if (next->word_.asleep()) {
      call.next(next->word_.address());
    }
  }

  /// Returns the first waiter that is still waiting, or null. Unlinks cancelled waiters in front of
  /// it.
  [[nodiscard]] slot_waiter* first_open() noexcept {
    // relaxed: inside the gate
    while (slot_waiter* const first = head_.load(std::memory_order_relaxed)) {
      if (!first->ended()) {
        return first;
      }
      remove(*first);
    }
    return nullptr;
  }

  /// Gives `item` to `first`. Returns false if that waiter has just been cancelled.
  [[nodiscard]] bool give(slot_waiter& first, void* item, wake_up_call& call) noexcept {
    // Unlinks the waiter first, because the waiter can return as soon as it has been given the
    // item.
    remove(first);
    // relaxed: published by (2) of wait_word.hpp
    first.item_.store(item, std::memory_order_relaxed);
    const bool is_callback = first.is_callback();  // read before the waiter may be gone
    // A waiter that is not running yet has not noticed the early call.
    // relaxed: a hint
    const bool heard = first.called_ && !first.is_next_.load(std::memory_order_relaxed);
    const wait_word::ending before = first.word_.give();
    const bool given = before != wait_word::ending::too_late;
    if (heard && given) {
      early_.has_come_for(before == wait_word::ending::awake);
    }
    if (before == wait_word::ending::asleep) {
      call.next(first.word_.address());
    } else if (is_callback && given) {
      call.add(first);
    }
    return given;
  }

  /// Leaves the gate. Returns false if another thread has asked for a search: the caller is then
  /// still inside.
  [[nodiscard, LIDO_ASSERTS]] bool leave() noexcept {
    std::uint32_t seen = somebody;
    // (3) - this release-CAS synchronizes-with the acquire-CAS (1) and the acq_rel-CAS (2).
    // relaxed on failure: (4) reads again
    if (gate_.compare_exchange_strong(seen, nobody, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return true;
    }
    LIDO_ASSERT(seen == asked, "a thread leaves the gate of a queue that it did not enter");
    // (4) - this acquire-exchange synchronizes-with the acq_rel-CAS (2), so the items of the
    // threads that asked are visible
    (void)gate_.exchange(somebody, std::memory_order_acquire);
    return false;
  }

  [[nodiscard]] bool contains(const slot_waiter& who) const noexcept {
    // relaxed: inside the gate
    return who.linked_in_.load(std::memory_order_relaxed) == generation_;
  }

  /// Changes the length by `by`, and returns the previous length.
  [[LIDO_ASSERTS]] std::uint32_t change_length(std::int32_t by) noexcept {
    // relaxed: inside the gate; the waiter's fence makes other threads see the new length
    const auto before =
        length_.fetch_add(static_cast<std::uint32_t>(by), std::memory_order_relaxed);
    LIDO_ASSERT(by > 0 || before != 0, "more waiters leave the queue than joined");
    return before;
  }

  shared_atomic<std::uint32_t> length_{0};
  shared_atomic<std::uint32_t> gate_{nobody};
  // Used inside the gate.
  atomic<slot_waiter*> head_{nullptr};
  atomic<slot_waiter*> tail_{nullptr};
  atomic<bool> watched_{false};
  std::uint32_t generation_ = 1;  // changes only in the child of a fork
  early_call early_;
};

}  // namespace lido::inline v0::detail
