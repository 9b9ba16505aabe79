/// @file
/// An allocator with book-keeping: what scenarios call instead of acquire and release.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <vector>

#include "lido/allocator/segment_memory.hpp"
#include "lido/allocator/slot_allocator.hpp"
#include "scenarios/ledger.hpp"
#include "scenarios/scenario.hpp"
#include "seam/system.hpp"
#include "src/allocator/slot_waiter_queue.hpp"

namespace model {

using lido::cache_kind;
inline constexpr auto revocable = cache_kind::revocable;
inline constexpr auto locked = cache_kind::locked;
inline constexpr auto none = cache_kind::none;

/// During its lifetime, pools find no heavy fence.
class without_heavy_fence {
 public:
  without_heavy_fence() { take_heavy_fence_away(/*yes=*/true); }
  without_heavy_fence(const without_heavy_fence&) = delete;
  without_heavy_fence& operator=(const without_heavy_fence&) = delete;
  ~without_heavy_fence() { take_heavy_fence_away(/*yes=*/false); }
};

/// During its lifetime, new pools of that many slots or more have two shards in their depots, for
/// even and for odd thread numbers. `roams`: threads take from the other's shard before the common
/// one.
class depot_in_shards {
 public:
  explicit depot_in_shards(std::uint32_t slots, bool roams = false) {
    tuning::slots_for_shards = slots;
    tuning::fresh_bytes = roams ? 0 : usual_reach_;
  }
  depot_in_shards(const depot_in_shards&) = delete;
  depot_in_shards& operator=(const depot_in_shards&) = delete;
  ~depot_in_shards() {
    tuning::slots_for_shards = usual_;
    tuning::fresh_bytes = usual_reach_;
  }

 private:
  using tuning = lido::detail::tuning;
  std::uint32_t usual_ = tuning::slots_for_shards;
  std::size_t usual_reach_ = tuning::fresh_bytes;
};

/// An allocator of slots without memory: no layer below the objects ever touches it.
class pooled {
 public:
  static constexpr std::size_t nothing = ~std::size_t{0};
  static constexpr std::size_t most_slots = 16;

  explicit pooled(std::uint32_t capacity, cache_kind caches = cache_kind::revocable,
                  std::uint32_t max_cached = 8, bool may_wait = false, bool visits_free = false);

  /// Returns a slot's number, or nothing.
  std::size_t acquire();
  void release(std::size_t slot);
  void acquire_and_release() { release(acquire()); }
  /// Acquires without opening a cache, which would change the shares of others.
  std::size_t acquire_past_caches();
  /// Acquires, or reports a failure; for scenarios where demand never exceeds the capacity.
  std::size_t must_acquire();

  /// Waits for a slot; returns nothing if the wait was cancelled or timed out.
  std::size_t wait(lido::detail::slot_waiter& me, const lido::detail::deadline& until = {});
  /// Waits without a limit; the second without trying first.
  std::size_t wait();
  std::size_t wait_in_line();
  /// Waits without trying first; returns nothing if the wait was cancelled.
  std::size_t wait_in_line(lido::detail::slot_waiter& me);

  /// Calls `done(number)` with a slot or, if a stop is requested first or the time is up, with
  /// nothing.
  void wait_async(std::function<void(std::size_t)> done, std::stop_token stop = {},
                  const lido::detail::deadline& until = {});

  std::vector<std::size_t> acquire_n(std::size_t count);
  void release_n(const std::vector<std::size_t>& numbers);

  /// Makes all slots free. If `visits` is true, checks that the pool visits the slots in use, and
  /// only these.
  void restart(bool visits);

  /// Visits the free slots for which `wants(slot)` is true, and calls `during()` in each visit.
  template <class Wants, class During>
  void visit_free(const Wants& wants, const During& during) {
    class visitor final : public lido::detail::free_slot_visitor {
     public:
      visitor(ledger& books, const Wants& wants, const During& during)
          : books_(books), wants_(wants), during_(during) {}
      [[nodiscard]] bool is_done() const noexcept override { return false; }
      [[nodiscard]] bool wants_unused() const noexcept override { return true; }
      [[nodiscard]] bool wants(lido::detail::slot_index slot) const noexcept override {
        return wants_(slot);
      }
      void visit(lido::detail::slot_index slot) noexcept override {
        books_.begin_visit(slot);
        during_();
        books_.end_visit(slot);
      }

     private:
      ledger& books_;
      const Wants& wants_;
      const During& during_;
    };
    visitor all(books_, wants, during);
    allocator_.visit_free(all);
  }

  /// Checks, when all threads have returned all slots but `held`, that one thread can acquire
  /// everything at once, the numbers agree, and each refusal was right.
  void check(std::size_t held = 0);

  [[nodiscard]] ledger& books() { return books_; }
  [[nodiscard]] lido::slot_pool_stats stats() const { return allocator_.stats(); }

 private:
  static constexpr std::size_t stride = 64;
  [[nodiscard]] static std::size_t number(const void* slot);
  [[nodiscard]] static void* address(std::size_t number);

  lido::detail::slot_allocator allocator_;
  ledger books_;
};

}  // namespace model
