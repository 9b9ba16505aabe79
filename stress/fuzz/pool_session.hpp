/// @file
/// Runs the operations that an input encodes on a pool, and on a model of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fuzz/byte_reader.hpp"
#include "fuzz/calls.hpp"
#include "fuzz/check.hpp"
#include "fuzz/crew.hpp"
#include "fuzz/misuse_watch.hpp"
#include "fuzz/pool_extras.hpp"
#include "fuzz/pool_model.hpp"
#include "fuzz/pool_questions.hpp"
#include "fuzz/windows.hpp"
#include "lido/object_pool.hpp"

namespace fuzz {

/// Operations run one at a time, in threads that take turns; in a build with windows, also one in
/// the middle of another. Unless one intervenes, the model predicts every result.
template <class Kind>
class pool_session {
  using pool = typename Kind::pool;
  using object_type = typename Kind::object;

 public:
  pool_session(byte_reader& input, const lido::object_pool_options& options)
      : input_(input),
        model_(Kind::grows ? options.max_capacity : options.capacity),
        pool_(std::make_unique<pool>(options)) {
    on_window([this] { come_between(); });
  }
  pool_session(const pool_session&) = delete;
  pool_session& operator=(const pool_session&) = delete;
  ~pool_session() { on_window(nullptr); }

  void play() {
    while (input_.more()) {
      crew_.run_as(turn_, [this, mine = turn_] {
        while (input_.more() && turn_ == mine && to_end_ == 0) {
          step();
        }
      });
      if (const std::size_t member = std::exchange(to_end_, 0); member > 0) {
        end_thread(member);
      }
    }
    finish(/*pool_first=*/capacity_is_odd());
  }

 private:
  using lease = typename Kind::lease;
  using call = calls::one;

  /// Reads one operation. Those of `do_more` have a block of bytes of their own, so that all other
  /// bytes mean the same in older inputs.
  void step() {
    constexpr std::size_t usual = 18;
    constexpr std::size_t block_of_more = 13;
    const std::size_t code = input_.byte();
    if (code / usual == block_of_more) {
      return do_more(code % 6);
    }
    switch (code % usual) {
      case 0:
        return pass_turn();
      case 1:
        return acquire();
      case 2:
        return try_acquire();
      case 3:
        return acquire_pointers(1 + input_.below(64));
      case 4:
        return acquire_bulk(input_.byte());
      case 5:
        return release_pointers(1 + input_.below(64));
      case 6:
        return release_bulk(input_.byte());
      case 7:
        return drop_lease(input_.byte());
      case 8:
        return detach(input_.byte());
      case 9:
        return move_lease(input_.byte());
      case 10:
        return acquire_refused();
      case 11:
        return acquire_bulk_refused(input_.byte());
      case 12:
        return walk();
      case 13:
        return ask_owner(input_.byte());
      case 14:
        return check_numbers();
      case 15:
        return end_a_thread();
      case 16:
        return make_pairs(input_.below(64));
      default:
        return do_extra(input_.byte());
    }
  }

  void do_more(std::size_t which) {
    switch (which) {
      case 0:
        return acquire_all(input_.byte(), /*refuses=*/false);
      case 1:
        return acquire_all(input_.byte(), /*refuses=*/true);
      case 2:
        return acquire_leases(input_.byte());
      case 3:
        return release_list(input_.byte());
      case 4:
        return check_indices();
      default:
        return give_up(input_.byte());
    }
  }

  // ---- threads and turns ------------------------------------------------------------------------

  void pass_turn() {
    const std::size_t member = input_.below(crew::size);
    turn_ = calls_.none() ? member : turn_;
  }

  /// Chooses a thread for `play` to end after this stretch: it cannot end itself.
  void end_a_thread() {
    const std::size_t member = 1 + input_.below(crew::size - 1);
    to_end_ = calls_.none() ? member : 0;
  }

  void end_thread(std::size_t member) {
    const closed_windows closed;  // the library holds the mutex of its thread numbers
    crew_.end(member);
  }

  /// Runs in a window: another thread does up to four things while this one is stopped.
  void come_between() {
    if (calls_.none() || payload::counts().refuse_in > 0) {
      return;
    }
    const std::size_t first = input_.below(crew::size - 1);
    for (std::size_t i = 0; i + 1 < crew::size; ++i) {
      const std::size_t member = 1 + (first + i) % (crew::size - 1);
      if (!crew_.busy(member)) {
        calls_.note_interruption();
        crew_.run_as(member, [this] {
          for (std::size_t steps = 1 + input_.below(4); steps > 0; --steps) {
            step();
          }
        });
        return;
      }
    }
  }

  // ---- acquire ----------------------------------------------------------------------------------

  /// Checks what every acquire must fulfil.
  void judge(const call& now, object_type* object) {
    if (object == nullptr) {
      check(!now.alone() || model_.free() == 0, "an acquire failed with a slot free");
      return;
    }
    check(pool_->owns(object), "an object is not in the pool it came from");
    model_.add(*object);
  }

  void acquire() {
    const call now(calls_);
    try {
      keep(now, acquire_or_throw());
    } catch (const lido::pool_exhausted& error) {
      judge(now, nullptr);
      check(error.capacity() == model_.capacity(), "an error names the wrong capacity");
      check(!now.alone() || error.in_use() == model_.out(), "an error counts the wrong number");
    }
  }

  lease acquire_or_throw() {
    if constexpr (Kind::waits) {
      return pool_->acquire_for(std::chrono::seconds(0), 1U);  // one thread runs at a time
    } else {
      return pool_->acquire(1U);
    }
  }

  void keep(const call& now, lease object) {
    judge(now, object.get());
    if (object) {
      leases_.push_back(std::move(object));
    }
  }

  void try_acquire() {
    const call now(calls_);
    keep(now, pool_->try_acquire(2U));
  }

  bool acquire_pointer() {
    const call now(calls_);
    object_type* const object = pool_->try_acquire_ptr();
    judge(now, object);
    if (object != nullptr) {
      pointers_.push_back(object);
    }
    return object != nullptr;
  }

  void acquire_pointers(std::size_t count) {
    while (count > 0 && acquire_pointer()) {
      --count;
    }
  }

  void take_bulk(const call& now, std::span<object_type* const> got, std::size_t wanted) {
    const std::size_t expected = std::min(wanted, model_.free());
    for (object_type* const object : got) {
      judge(now, object);
      pointers_.push_back(object);
    }
    check(!now.alone() || got.size() == expected, "a bulk acquire took too few or too many");
  }

  void acquire_bulk(std::size_t wanted) {
    const call now(calls_);
    std::vector<object_type*> out(wanted);
    const std::size_t count = pool_->try_acquire_n(out);
    take_bulk(now, std::span<object_type* const>(out).first(count), wanted);
  }

  /// Acquires all or none. If `refuses` is true, a constructor throws.
  void acquire_all(std::size_t wanted, bool refuses) {
    const call now(calls_);
    const auto is_null = [](const object_type* object) { return object == nullptr; };
    std::vector<object_type*> out(wanted);
    payload::counts().refuse_in = refuses ? static_cast<std::uint32_t>(1 + wanted / 2) : 0;
    try {
      const bool has_all = pool_->try_acquire_all(std::span<object_type*>(out));
      payload::counts().refuse_in = 0;
      check(!now.alone() || has_all == (wanted <= model_.free()),
            "all were acquired although there are too few, or none although there are enough");
      check(has_all ? std::none_of(out.begin(), out.end(), is_null)
                    : std::all_of(out.begin(), out.end(), is_null),
            "an acquire of all or none has stored pointers to some");
      out.resize(has_all ? wanted : 0);
    } catch (const refused&) {
      check(!now.alone() || wanted <= model_.free(),
            "a constructor ran although there are too few");
      check(std::all_of(out.begin(), out.end(), is_null),
            "an acquire that threw has left pointers");
      out.clear();
    }
    for (object_type* const object : out) {
      judge(now, object);
      pointers_.push_back(object);
    }
  }

  /// Acquires leases, some or all. The first place holds a lease that must end before.
  void acquire_leases(std::size_t wanted) {
    const call now(calls_);
    std::vector<lease> out(1 + wanted / 2);
    out.front() = take_lease(wanted);
    if (out.front()) {
      model_.remove(*out.front());
    }
    const std::size_t expected = std::min(out.size(), model_.free());
    const bool all = wanted % 2 == 0;
    const std::span<lease> places(out);
    const std::size_t count =
        all ? (pool_->try_acquire_all(places) ? out.size() : 0) : pool_->try_acquire_n(places);
    check(!now.alone() || count == (all && expected < out.size() ? 0 : expected),
          "too few leases were acquired, or too many");
    for (std::size_t i = 0; i < out.size(); ++i) {
      check(static_cast<bool>(out[i]) == (i < count), "a lease is empty, or should be");
      if (out[i]) {
        keep(now, std::move(out[i]));
      }
    }
  }

  void acquire_refused() {
    const call now(calls_);
    payload::counts().refuse_in = 1;
    try {
      object_type* const object = pool_->try_acquire_ptr(3U);
      payload::counts().refuse_in = 0;
      check(object == nullptr, "a constructor that throws made an object");
      judge(now, nullptr);
    } catch (const refused&) {
      check(!now.alone() || model_.free() > 0, "there was a slot when all objects are out");
    }
  }

  void acquire_bulk_refused(std::size_t wanted) {
    const call now(calls_);
    std::vector<object_type*> out(wanted);
    payload::counts().refuse_in = static_cast<std::uint32_t>(1 + wanted / 2);
    try {
      const std::size_t count = pool_->try_acquire_n(out);
      payload::counts().refuse_in = 0;
      take_bulk(now, std::span<object_type* const>(out).first(count), wanted);
    } catch (const refused&) {
      constexpr std::size_t calls_each = Kind::keeps ? 2 : 1;  // a constructor and an activation
      check(!now.alone() || calls_each * std::min(wanted, model_.free()) > wanted / 2,
            "a constructor ran in vain");
    }
  }

  /// Acquires and releases often enough that a closed cache opens again.
  void make_pairs(std::size_t count) {
    for (std::size_t i = 0; i < count && acquire_pointer(); ++i) {
      release_pointers(1);
    }
  }

  // ---- release ----------------------------------------------------------------------------------

  // An object leaves the model before the call: in a window, another thread may get its slot.
  void release_pointers(std::size_t count) {
    while (count > 0 && !pointers_.empty()) {
      const call now(calls_);
      object_type* const object = pointers_.back();
      pointers_.pop_back();
      model_.remove(*object);
      last_released_ = object;
      pool_->release(object);
      --count;
    }
    pool_->release(nullptr);
  }

  /// Takes the oldest objects, where `release_pointers` takes the newest.
  std::vector<object_type*> take_oldest(std::size_t wanted) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(wanted, pointers_.size()));
    std::vector<object_type*> objects(pointers_.begin(), pointers_.begin() + count);
    pointers_.erase(pointers_.begin(), pointers_.begin() + count);
    for (const payload* const object : objects) {
      model_.remove(*object);
    }
    return objects;
  }

  void release_bulk(std::size_t wanted) {
    const call now(calls_);
    pool_->release_n(take_oldest(wanted));
  }

  /// Releases objects of a range that is no array, with a null pointer in front.
  void release_list(std::size_t wanted) {
    const call now(calls_);
    const std::vector<object_type*> objects = take_oldest(wanted);
    std::forward_list<object_type*> list(objects.begin(), objects.end());
    list.push_front(nullptr);
    pool_->release_n(list);
  }

  lease take_lease(std::size_t which) {
    if (leases_.empty()) {
      return {};
    }
    std::swap(leases_[which % leases_.size()], leases_.back());
    lease taken = std::move(leases_.back());
    leases_.pop_back();
    return taken;
  }

  void drop_lease(std::size_t which) {
    const call now(calls_);
    lease dropped = take_lease(which);
    if (dropped) {
      model_.remove(*dropped);
    }
    if (which % 2 == 0) {
      dropped.reset();
      check(!dropped, "a lease holds an object that it has given back");
    }
  }

  void detach(std::size_t which) {
    if (lease from = take_lease(which)) {
      pointers_.push_back(from.detach());
      check(!from, "a lease holds an object that it has let go");
    }
  }

  void move_lease(std::size_t which) {
    const call now(calls_);
    lease target = take_lease(which);
    lease source = take_lease(which / 16);
    const payload* const expected = source.get();
    if (target) {
      model_.remove(*target);
    }
    target = std::move(source);
    // NOLINTNEXTLINE(bugprone-use-after-move): that it is empty is what is asked
    check(target.get() == expected && !source, "a move left the wrong thing behind");
    if (target) {
      leases_.push_back(std::move(target));
    }
  }

  // ---- questions, and the end -------------------------------------------------------------------

  void walk() {
    if constexpr (Kind::walks) {
      if (calls_.none()) {
        const closed_windows closed;  // what is compared is at rest
        check_walk(*pool_, model_);
      }
    }
  }

  /// Does what this kind of pool has beside acquire and release; without extras, another thread
  /// intervenes.
  void do_extra(std::size_t how) {
    if constexpr (Kind::grows) {
      how % 2 == 0 ? reserve_some(*pool_, model_, how) : shrink_some(*pool_, model_, how);
    } else if constexpr (Kind::checks) {
      object_type* const used = pointers_.empty() ? nullptr : pointers_.back();
      object_type* const released = model_.has(last_released_) ? nullptr : last_released_;
      misuse(watch_, *pool_, used, released, how);
    } else {
      arm_window(1 + static_cast<unsigned>(how % 256));
    }
  }

  void check_indices() {
    for (const object_type* const object : pointers_) {
      check_index(*pool_, model_, *object);
    }
    for (const lease& object : leases_) {
      check_index(*pool_, model_, *object);
    }
  }

  /// Gives idle objects up, or all objects.
  void give_up(std::size_t how) {
    if (!calls_.none()) {
      return;
    }
    const closed_windows closed;  // no other thread uses the pool
    if (how % 2 == 0) {
      shrink_objects<Kind>(*pool_, model_, how / 2);
    } else if constexpr (!Kind::keeps) {
      release_all(/*detach_first=*/how % 4 == 1);
    }
  }

  void release_all(bool detach_first) {
    const auto detach_leases = [this] {
      for (lease& one : leases_) {
        (void)one.detach();
      }
      leases_.clear();
    };
    for (const lease& one : leases_) {
      model_.remove(*one);
    }
    last_released_ = pointers_.empty() ? nullptr : pointers_.back();
    (void)take_oldest(pointers_.size());
    if (detach_first) {
      detach_leases();
    }
    pool_->release_all();
    detach_leases();
    check(payload::counts().live == 0, "an object was not destroyed with all the others");
    check_numbers();
  }

  void ask_owner(std::size_t offset) {
    if (!pointers_.empty()) {
      check_ownership(*pool_, model_, *pointers_.back(), offset);
    }
  }

  void check_numbers() {
    if (calls_.none()) {
      const closed_windows closed;  // what is compared is at rest
      check_stats<Kind>(*pool_, model_, crew_.alive());
    }
  }

  /// Releases everything; then the pool must have all its slots, and ends before its threads or
  /// after them.
  void finish(bool pool_first) {
    arm_window(0);
    check_numbers();
    for (const lease& object : leases_) {
      model_.remove(*object);
    }
    leases_.clear();
    release_pointers(pointers_.size());
    check_numbers();
    if (!pool_first) {
      for (std::size_t member = 1; member < crew::size; ++member) {
        crew_.end(member);
      }
      check_numbers();
    }
    acquire_pointers(model_.capacity() + 1);
    check(model_.free() == 0, "slots are lost");
    release_pointers(model_.capacity());
    pool_.reset();
  }

  [[nodiscard]] bool capacity_is_odd() const { return model_.capacity() % 2 == 1; }

  byte_reader& input_;
  misuse_watch watch_;  // also receives reports of leaks at the end
  pool_model model_;
  crew crew_;
  std::unique_ptr<pool> pool_;
  std::vector<object_type*> pointers_;
  object_type* last_released_ = nullptr;
  std::vector<lease> leases_;
  std::size_t turn_ = 0;
  std::size_t to_end_ = 0;  ///< member whose thread is to end; 0: none
  calls calls_;
};

}  // namespace fuzz
