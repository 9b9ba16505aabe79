/// @file
/// Internal. How many resources there are and may be, of each key and in total; and when to try
/// again after a failed create.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "effects.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "lido/resource/hooks.hpp"
#include "lido/resource/idle_cache.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

/// Exponential backoff with full jitter (M. Brooker, AWS Architecture Blog, 2015). A delay is drawn
/// from zero to a limit that doubles with each failure, so that pools that failed together do not
/// come back together. Not thread-safe.
class retry_backoff {
 public:
  retry_backoff(nanos first, nanos longest) noexcept : first_(first), longest_(longest) {}

  /// `draw` is from [0, 1).
  void failed(nanos now, double draw, bool permanent) noexcept {
    limit_ = limit_ == 0 ? first_ : (std::min)(longest_, later(limit_, limit_));
    at_ = later(now, 1 + static_cast<nanos>(draw * static_cast<double>(limit_)));
    permanent_ = permanent;
  }
  void reset() noexcept { *this = retry_backoff(first_, longest_); }
  [[nodiscard]] bool waits(nanos now) const noexcept { return now < at_; }
  [[nodiscard]] nanos at() const noexcept { return at_; }
  /// The last create failed.
  [[nodiscard]] bool is_failing() const noexcept { return limit_ != 0; }
  /// The last failure was permanent, and the next create is not due.
  [[nodiscard]] bool is_hopeless(nanos now) const noexcept { return permanent_ && waits(now); }

 private:
  nanos first_;
  nanos longest_;
  nanos limit_ = 0;
  nanos at_ = 0;
  bool permanent_ = false;
};

struct group_limits {
  std::uint32_t max_size = 0;
  std::uint32_t min_idle = 0;
  std::uint32_t max_creating = 1;  ///< also of validations at once, plus one
};

/// Three heaps that a group may be in.
struct by_hunger {};
struct by_timer {};
struct by_turn {};

/// The resources and waiters of one key; a pool without keys has one group. Under the pool's mutex,
/// except what it inherits from `idle_cache`.
class slot_group final : public idle_cache,
                         public heap_hook<slot_group, by_hunger>,
                         public heap_hook<slot_group, by_timer>,
                         public heap_hook<slot_group, by_turn> {
 public:
  slot_group(pool_core* core, pool_gate& gate, std::shared_ptr<factory_hooks> maker,
             const group_limits& most, const retry_backoff& backoff, std::uint64_t hash)
      : idle_cache(core, gate),
        hooks(std::move(maker)),
        limits(most),
        retry(backoff),
        key_hash(hash) {}

  /// Resources in use, and idle ones.
  [[nodiscard]] std::size_t taken() const noexcept {
    return std::size_t{live} - creating - checking - closing;
  }
  /// More resources than `limits.max_size`, those that are about to end not counted.
  [[nodiscard]] bool has_surplus() const noexcept { return live - closing > limits.max_size; }
  /// A create has succeeded, and none has failed since.
  [[nodiscard]] bool is_proven() const noexcept { return has_created && !retry.is_failing(); }

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): numbers and lists of the kernel
  std::shared_ptr<factory_hooks> hooks;
  std::stop_source stop;  ///< of its creates and validations; asked to stop without the mutex
  group_limits limits;
  retry_backoff retry;
  const std::uint64_t key_hash;
  std::shared_ptr<const std::string> text;           ///< of the key, for reports; null without keys
  std::shared_ptr<const std::string> name;           ///< of the pool, with that; null without keys
  std::shared_ptr<const create_failure_text> error;  ///< null if the last create went well

  wait_queue queue;
  std::uint32_t live = 0;      ///< slots that are not empty
  std::uint32_t creating = 0;  ///< of these
  std::uint32_t outdated = 0;  ///< of these, those begun before the last flush
  std::uint32_t kept = 0;      ///< of these, those that their creators will use; none outdated
  std::uint32_t closing = 0;
  std::uint32_t checking = 0;    ///< slots that are being validated or reset
  std::uint32_t validating = 0;  ///< of these, validations begun since the last flush
  std::uint32_t young = 0;       ///< of these, those that may soon be answered
  std::uint32_t wanted = 0;      ///< creates to begin, for waiters
  std::uint32_t leaving = 0;     ///< threads that ended their waits; the kernel has unlinked them
  bool has_created = false;
  bool has_stale = false;       ///< idle resources that must be validated first were seen
  bool is_overdue = false;      ///< the first waiter was overtaken for long enough
  std::uint32_t idle_seen = 0;  ///< by `count_slots`; the sweep that is under way takes from it
  std::uint64_t hits_seen = 0;  ///< by `count_slots`, of resources that live; as the next
  std::uint64_t acquires_seen = 0;
  nanos hungry_from = 0;         ///< since when the first waiter waits that a create is for
  bool is_bounded = false;       ///< in which heap of hungry groups it is
  std::uint64_t visited_in = 0;  ///< the last round of visits to all groups
  resource_pool_stats totals;
  std::size_t index = 0;  ///< in the list of all groups
  // NOLINTEND(*-non-private-member-variables-in-classes)
};

[[nodiscard]] inline slot_group& group_in(idle_cache& cache) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): all caches are groups
  return static_cast<slot_group&>(cache);
}
[[nodiscard]] inline slot_group& group_of(const pool_slot& slot) noexcept {
  return group_in(*slot.record.cache);
}

/// `from - what`, at least 0.
[[nodiscard]] constexpr std::uint32_t less(std::uint32_t from, std::uint32_t what) noexcept {
  return from > what ? from - what : 0;
}

/// The total of all groups, and which group may create next.
///
/// A group is hungry while it may begin a create now. The one whose first waiter came first is
/// served first. A group without a working resource may try one create at any time; further ones
/// begin only while such groups create less than half of the total. So hosts to which connects hang
/// leave room for others.
class capacity {
  using hungry_groups = deadline_heap<slot_group, by_hunger>;

 public:
  /// After all waiters.
  static constexpr std::int64_t no_waiter = never - 1;

  /// `is_shared`: by several groups.
  capacity(std::uint32_t max_total, bool is_shared) noexcept
      : max_total_(max_total), is_shared_(is_shared) {}

  [[nodiscard]] std::uint32_t live() const noexcept { return live_; }
  [[nodiscard]] std::uint32_t creating() const noexcept { return creating_; }
  [[nodiscard]] std::uint32_t max_total() const noexcept { return max_total_; }
  [[nodiscard]] bool is_full() const noexcept { return live_ >= max_total_; }
  void set_max_total(std::uint32_t max_total) noexcept { max_total_ = max_total; }

  /// `wanted`: creates to begin; `first`: the first waiter that one of them is for, or null.
  void set_hunger(slot_group& group, std::uint32_t wanted, const acquire_waiter* first) noexcept {
    forget(group);
    if (wanted != 0) {
      group.hungry_from = first != nullptr ? first->since : 0;
      group.wanted = first != nullptr ? wanted : 0;
      group.is_bounded = is_shared_ && !group.is_proven() && group.creating != group.outdated;
      (group.is_bounded ? bounded_ : free_)
          .push(group, first != nullptr ? first->order : no_waiter);
      (group.is_bounded ? bounded_wanted_ : wanted_) += group.wanted;
    }
  }
  /// Creates that waiters of all groups need, and that may begin.
  [[nodiscard]] std::uint32_t wanted() const noexcept {
    const std::uint32_t half = max_total_ / 2;
    return wanted_ + (std::min)(bounded_wanted_, half - (std::min)(half, unproven_creating_));
  }
  /// The hungry group that is served next, or null.
  [[nodiscard]] slot_group* next() const noexcept {
    const bool is_bounded = unproven_creating_ < max_total_ / 2 && bounded_.next() < free_.next();
    return is_bounded ? bounded_.first() : free_.first();
  }
  /// The order of the waiter for which a hungry group creates.
  [[nodiscard]] static std::int64_t order_of(const slot_group& group) noexcept {
    return hungry_groups::key_of(group);
  }
  void forget(slot_group& group) noexcept {
    (group.is_bounded ? bounded_wanted_ : wanted_) -= std::exchange(group.wanted, 0U);
    (group.is_bounded ? bounded_ : free_).remove(group);
  }

  void begin_create(slot_group& group, pool_slot& slot) noexcept {
    ++live_;
    ++group.live;
    ++group.creating;
    ++creating_;
    slot.record.is_unproven = !group.is_proven();
    unproven_creating_ += slot.record.is_unproven ? 1 : 0;
  }
  void end_create(slot_group& group, pool_slot& slot) noexcept {
    --group.creating;
    --creating_;
    group.outdated -= slot.record.is_outdated ? 1 : 0;
    group.kept -= slot.record.is_kept && !slot.record.is_outdated ? 1 : 0;
    unproven_creating_ -= slot.record.is_unproven ? 1 : 0;
    slot.record.is_unproven = false;
    slot.record.is_kept = false;
  }
  void end_resource(slot_group& group) noexcept {
    --live_;
    --group.live;
  }

 private:
  std::uint32_t max_total_;
  bool is_shared_;
  std::uint32_t live_ = 0;
  std::uint32_t creating_ = 0;
  std::uint32_t wanted_ = 0;  // by free groups
  std::uint32_t bounded_wanted_ = 0;
  std::uint32_t unproven_creating_ = 0;
  // A group is in one of them at most.
  hungry_groups free_;
  hungry_groups bounded_;
};

}  // namespace lido::inline v0::detail
