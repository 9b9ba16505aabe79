/// @file
/// Internal. The resources and waiters of one key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "acquire_queue.hpp"
#include "create_outcome.hpp"
#include "lido/base/deadline_heap.hpp"
#include "lido/resource/factory_hooks.hpp"
#include "lido/resource/idle_cache.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/stats.hpp"
#include "resource_tuning.hpp"
#include "retry_backoff.hpp"
#include "slot_counts.hpp"

namespace lido::inline v0::detail {

struct group_limits {
  std::uint32_t max_size = 0;
  std::uint32_t min_idle = 0;
  /// Limit of concurrent creates; the limit of validations is one higher.
  std::uint32_t max_creating = 1;
};

[[nodiscard]] inline group_limits limits_of(const pool_settings& settings, std::size_t max_size,
                                            std::size_t min_idle) noexcept {
  return {.max_size = static_cast<std::uint32_t>(max_size),
          .min_idle = static_cast<std::uint32_t>(min_idle),
          .max_creating = settings.creating_limit(max_size)};
}

/// The factory of a group, and how its last create ended.
struct group_factory {
  std::shared_ptr<factory_hooks> hooks;
  std::stop_source stop;  ///< for creates and validations; stops are requested without the mutex
  std::shared_ptr<const create_failure_text> error;  ///< null if the last create succeeded
  bool has_created = false;                          ///< a create has succeeded
  nanos tried_at = 0;                                ///< when the last create began, in real time
  /// Duration of the longest recent validation that passed.
  nanos slowest_answer = resource_tuning::nanoseconds_for_answer;

  void note_answer(nanos took) noexcept {
    slowest_answer = (std::max)(took, slowest_answer - slowest_answer / 8);
  }
  /// Returns how long a waiter waits before an idle resource that was not asked for an answer is
  /// replaced for the waiter. Used while at least two answers are overdue. The time is long enough
  /// for the answer of a distant server.
  [[nodiscard]] nanos patience() const noexcept {
    const nanos answer = resource_tuning::nanoseconds_for_answer;
    return (std::min)((std::max)(4 * slowest_answer, 2 * answer), 20 * answer);
  }
  bool is_asked = true;  ///< a waiter has arrived since the last flush; always true without keys
};

/// The name of a group, in pools with keys.
struct group_name {
  std::uint64_t hash = 0;                   ///< hash of the key
  std::shared_ptr<const std::string> key;   ///< text of the key, for reports; null without keys
  std::shared_ptr<const std::string> pool;  ///< names the pool and the key; null without keys
};

/// Creates that a group may begin now; see `create_quota`.
struct create_request {
  std::uint32_t wanted = 0;  ///< creates for waiters
  nanos since = 0;           ///< when the first waiter for a create arrived
  bool is_bounded = false;   ///< the group is unproven, and already has a create in progress
};

/// What the last count of all slots found in a group. A sweep in progress subtracts the resources
/// that it closes.
struct group_seen {
  std::uint32_t idle = 0;
  std::uint64_t hits = 0;  ///< uses of live resources only, also in `acquires`
  std::uint64_t acquires = 0;
};

/// The entry of a group in the list of all groups.
struct group_listing {
  std::size_t index = 0;
  std::uint64_t visited_in = 0;  ///< the last round in which the group was visited
};

/// Tags for the three heaps that can contain a group.
struct by_request {};
struct by_timer {};
struct by_match {};

/// The resources and waiters of one key. A pool without keys has one group. Guarded by the pool's
/// mutex, except for `cache`.
class slot_group final : public heap_hook<slot_group, by_request>,
                         public heap_hook<slot_group, by_timer>,
                         public heap_hook<slot_group, by_match> {
 public:
  slot_group(pool_core* core, pool_gate& gate, std::shared_ptr<factory_hooks> maker,
             const group_limits& most, const retry_backoff& backoff, group_name named)
      : cache(core, gate, this),
        factory{.hooks = std::move(maker), .stop = {}, .error = {}},
        limits(most),
        retry(backoff),
        name(std::move(named)) {}
  slot_group(const slot_group&) = delete;
  slot_group& operator=(const slot_group&) = delete;
  ~slot_group() = default;

  /// Returns true if the group has more resources than `limits.max_size`, not counting closing
  /// ones.
  [[nodiscard]] bool has_surplus() const noexcept {
    return counts.live() - counts.closing() > limits.max_size;
  }
  /// Returns true if a create has succeeded, and none has failed since.
  [[nodiscard]] bool is_proven() const noexcept {
    return factory.has_created && !retry.is_failing();
  }
  /// Returns true if no create can begin for a while, and no resource can become available.
  [[nodiscard]] bool is_hopeless(nanos real) const noexcept {
    return retry.is_hopeless(real) && counts.live() == counts.outdated();
  }

  idle_cache cache;
  group_factory factory;
  group_limits limits;
  retry_backoff retry;
  const group_name name;
  slot_counts counts;
  acquire_queue queue;
  /// Removed waiters whose threads ended the wait, and have yet to report that.
  std::uint32_t self_ended = 0;
  std::uint32_t awake = 0;  ///< waiters that look for a resource before they sleep
  bool has_stale = false;   ///< an idle resource was seen that must be validated before use
  create_request request;
  group_seen seen;
  resource_pool_stats totals;
  group_listing listing;
};

[[nodiscard]] inline slot_group& group_of(const pool_slot& slot) noexcept {
  return *slot.record.cache->group();
}

}  // namespace lido::inline v0::detail
