/// One cache, its owner and its thieves, without the allocator around them: so short that every
/// order of events can be tried. Hard cases 1 to 6.
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lido/allocator/slot_cache.hpp"
#include "lido/concurrency/atomic.hpp"
#include "scenarios/ledger.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using lido::cache_kind;
using lido::detail::slot_cache;
using cell = slot_cache::cell;
using phase = slot_cache::phase;

constexpr std::size_t nothing = ~std::size_t{0};
constexpr std::uint32_t limit = 4;

/// Cells in front of a cache, the last of which a failing pop reads.
struct alignas(lido::detail::cache_line) read_at_top_0 {
  std::array<cell, lido::detail::cache_line / sizeof(cell)> cells;
};

/// A cache with some items in it; the owner holds the rest.
class driven {
 public:
  driven(cache_kind kind, std::size_t items, std::size_t cached) : kind_(kind), books_(items) {
    use(cells_, limit);
    for (std::size_t item = 0; item < items; ++item) {
      books_.got(item, books_.begin());
      if (item < cached) {
        push(item);
      }
    }
  }

  /// Gives the owner other cells, for that many items. Requires: the owner holds all items.
  void use(std::span<cell> cells, std::uint32_t most) {
    (void)cache_.settle(kind_);
    cache_.use_cells(cells);
    limit_ = most;
    cache_.open(kind_, 0, limit_);
  }

  /// Pops as the owner: does what the allocator does around the cache, without a depot.
  std::size_t pop() {
    const auto began = books_.begin();
    void* item = nullptr;
    if (kind_ == cache_kind::locked || !cache_.pop(item)) {
      item = finish_pop();
    }
    if (item == nullptr) {
      return nothing;
    }
    books_.got(number(item), began);
    return number(item);
  }

  void push(std::size_t what) {
    if (what != nothing) {
      books_.gives(what);
      if (kind_ == cache_kind::locked || !cache_.push(address(what))) {
        finish_push(address(what));
      }
      books_.gave(what);
    }
  }

  /// Ends the owner's use, as at the end of its thread; returns how many items it takes along.
  std::size_t leave() {
    const auto began = books_.begin();
    const slot_cache::settled found = cache_.settle(kind_);
    for (std::uint32_t i = 0; i < found.count; ++i) {
      books_.got(number(cache_.cells()[i].load(std::memory_order_relaxed)), began);
    }
    cache_.close();
    return found.count;
  }

  /// Robs the cache as a thief, all steps in one go. Returns whether the claim succeeded.
  bool rob(bool take_over = false) {
    const auto began = books_.begin();
    const auto seen = cache_.state();
    if (seen.now() != phase::open && !(take_over && seen.now() == phase::revoking)) {
      return false;
    }
    const auto announced = cache_.revoke(seen);
    if (!announced.has_value()) {
      return false;
    }
    if (kind_ == cache_kind::revocable) {
      (void)lido::detail::heavy_fence();
    }
    std::array<void*, limit + 1> loot{};
    const auto taken = cache_.harvest(kind_, *announced, loot);
    for (std::uint32_t i = 0; i < taken.value_or(0); ++i) {
      books_.got(number(loot.at(i)), began);
    }
    stolen_ += taken.value_or(0);
    return taken.has_value();
  }

  /// Announces a theft and withdraws, as a thief that may not look.
  void announce_and_withdraw() {
    const auto seen = cache_.state();
    if (seen.now() == phase::open) {
      if (const auto announced = cache_.revoke(seen)) {
        cache_.withdraw(*announced);
      }
    }
  }

  /// Checks, when all threads have ended and the owner holds `held` items, that none is lost.
  void check(std::size_t held) {
    std::size_t found = held + stolen_;
    while (pop() != nothing) {
      ++found;
    }
    require(found == books_.capacity(), "an item is lost");
  }

 private:
  static void* address(std::size_t number) {
    return reinterpret_cast<void*>((number + 1) * 64);  // NOLINT(performance-no-int-to-ptr)
  }
  static std::size_t number(void* item) { return reinterpret_cast<std::uintptr_t>(item) / 64 - 1; }

  void* finish_pop() {
    if (cache_.forget_operation_if_idle()) {
      return nullptr;
    }
    const slot_cache::settled found = cache_.settle_pop(kind_);
    cache_.open(kind_, found.count, limit_);
    return found.item;
  }

  void finish_push(void* item) {
    slot_cache::settled found{item, 0, /*robbed=*/false, /*contested=*/false};
    if (cache_.forget_operation_if_idle()) {
      (void)cache_.settle(kind_);
    } else {
      found = cache_.settle_push(kind_, item);
    }
    if (found.item != nullptr) {
      cache_.cells()[found.count++].store(found.item, std::memory_order_relaxed);
    }
    cache_.open(kind_, found.count, limit_);
  }

  cache_kind kind_;
  std::uint32_t limit_ = limit;
  std::array<cell, limit + 2> cells_;
  read_at_top_0 before_;
  slot_cache cache_;
  ledger books_;
  std::size_t stolen_ = 0;
};

template <cache_kind Kind>
void theft_against_pop() {
  driven cache(Kind, 2, 2);
  std::size_t held = 0;
  in_threads(
      [&] { held = (cache.pop() != nothing ? 1U : 0U) + (cache.pop() != nothing ? 1U : 0U); },
      [&] { (void)cache.rob(); });
  cache.check(held);
}

template <cache_kind Kind>
void theft_against_push() {
  driven cache(Kind, 3, 1);
  in_threads(
      [&] {
        cache.push(1);
        cache.push(2);
      },
      [&] { (void)cache.rob(); });
  cache.check(0);
}

template <cache_kind Kind>
void theft_against_both() {
  driven cache(Kind, 2, 1);
  std::size_t held = 1;
  in_threads(
      [&] {
        const std::size_t popped = cache.pop();
        cache.push(1);
        cache.push(popped);
        held = cache.pop() != nothing ? 1 : 0;
      },
      [&] { (void)cache.rob(); });
  cache.check(held);
}

template <cache_kind Kind>
void two_thieves() {
  driven cache(Kind, 2, 2);
  in_threads([&] { cache.push(cache.pop()); }, [&] { (void)cache.rob(); },
             [&] { (void)cache.rob(); });
  cache.check(0);
}

// A thief whose theft the owner has cancelled must not mistake the next thief's for its own.
void cancelled_thief() {
  driven cache(cache_kind::revocable, 2, 2);
  std::size_t held = 0;
  in_threads([&] { held = cache.pop() != nothing ? 1 : 0; }, [&] { (void)cache.rob(); },
             [&] { (void)cache.rob(); });
  cache.check(held);
}

// A thief that is slow between its announcement and its claim loses the cache to the next one.
template <cache_kind Kind>
void taken_over() {
  driven cache(Kind, 2, 2);
  in_threads([&] { cache.push(cache.pop()); }, [&] { (void)cache.rob(); },
             [&] { (void)cache.rob(/*take_over=*/true); });
  cache.check(0);
}

// A thief gives up after another has taken the cache over, and then returns.
void withdrawn_beside_theft() {
  driven cache(cache_kind::revocable, 2, 2);
  in_threads([&] { cache.push(cache.pop()); },
             [&] {
               cache.announce_and_withdraw();
               (void)cache.rob();
             },
             [&] { (void)cache.rob(/*take_over=*/true); });
  cache.check(0);
}

// The owner finds its cache empty, opens it again, and is robbed again.
template <cache_kind Kind>
void robbed_and_reopened() {
  driven cache(Kind, 2, 1);
  in_threads(
      [&] {
        cache.push(1);
        cache.push(cache.pop());
        cache.push(cache.pop());
      },
      [&] {
        (void)cache.rob();
        (void)cache.rob();
      });
  cache.check(0);
}

// The owner stays away for a long time: its first push and pop meet a frozen cache.
template <cache_kind Kind>
void left_stolen() {
  driven cache(Kind, 3, 2);
  in_threads([&] { (void)cache.rob(); });
  in_threads(
      [&] {
        require(cache.pop() == nothing, "a pop from a robbed cache found something");
        cache.push(2);
        cache.push(cache.pop());
      },
      [&] { (void)cache.rob(); });
  cache.check(0);
}

template <cache_kind Kind>
void exit_against_theft() {
  driven cache(Kind, 2, 1);
  std::size_t home = 0;
  in_threads(
      [&] {
        cache.push(1);
        home = cache.leave();
      },
      [&] { (void)cache.rob(); });
  cache.check(home);
}

/// Cells for no item, except one that a push fills; those behind it have been destroyed, so that a
/// look there shows.
class few_cells {
 public:
  few_cells() { std::destroy(all_.begin() + few, all_.end()); }
  few_cells(const few_cells&) = delete;
  few_cells& operator=(const few_cells&) = delete;
  ~few_cells() {
    for (auto ended = all_.begin() + few; ended != all_.end(); ++ended) {
      std::construct_at(&*ended);
    }
  }
  [[nodiscard]] std::span<cell> get() { return std::span(all_).first(few); }

 private:
  static constexpr std::size_t few = 2;
  std::array<cell, limit + 2> all_;
};

// A cache grows while a thief reads it. The thief must not take the old cells for as many as the
// new ones, nor look at new ones that do not exist yet.
template <cache_kind Kind>
void cells_replaced() {
  few_cells few;
  std::unique_ptr<cell[]> more;
  driven cache(Kind, 2, 0);
  cache.use(few.get(), 0);
  in_threads([&] { (void)cache.rob(); },
             [&] {
               more = std::make_unique<cell[]>(limit);
               cache.use({more.get(), limit}, limit - 2);
               cache.push(0);
               cache.push(1);
             });
  cache.check(0);
}

// The operations of a closed cache must fail wherever its cells were: a stale bound would let those
// through that go to addresses above it, or below.
void closed_takes_no_hits() {
  constexpr auto kind = cache_kind::revocable;
  struct {
    read_at_top_0 below;
    slot_cache cache;
    std::array<cell, limit> above;
  } line;
  int item = 0;
  for (const std::span<cell> cells :
       {std::span<cell>(line.below.cells), std::span<cell>(line.above)}) {
    (void)line.cache.settle(kind);
    line.cache.use_cells(cells);
    line.cache.open(kind, 0, limit - 2);
    (void)line.cache.settle(kind);
    line.cache.close();
    require(!line.cache.push(&item), "a closed cache takes an item");
    (void)line.cache.settle_push(kind, &item);
    line.cache.close();
    void* popped = nullptr;
    require(!line.cache.pop(popped), "a closed cache gives an item away");
  }
}

constexpr auto revocable = cache_kind::revocable;
constexpr auto locked = cache_kind::locked;

constexpr std::array slot_cache_list{
    scenario{"slot_cache.theft_against_pop", "a pop that straddles a theft",
             &theft_against_pop<revocable>},
    scenario{"slot_cache.theft_against_push", "a push that straddles a theft",
             &theft_against_push<revocable>},
    scenario{"slot_cache.theft_against_both", "pops and pushes beside a theft",
             &theft_against_both<revocable>},
    scenario{"slot_cache.two_thieves", "two thieves at one cache", &two_thieves<revocable>},
    scenario{"slot_cache.cancelled_thief", "a thief too late, and the next one", &cancelled_thief,
             false, bounds{3, 0, 0}},
    scenario{"slot_cache.withdrawn_beside_theft", "a thief gives up when another has been there",
             &withdrawn_beside_theft},
    scenario{"slot_cache.taken_over", "a thief takes over from one that is slow",
             &taken_over<revocable>},
    scenario{"slot_cache.robbed_and_reopened", "a cache is robbed, opened, robbed again",
             &robbed_and_reopened<revocable>},
    scenario{"slot_cache.left_stolen", "an owner comes back to a robbed cache",
             &left_stolen<revocable>},
    scenario{"slot_cache.exit_against_theft", "an owner leaves while it is robbed",
             &exit_against_theft<revocable>},
    scenario{"slot_cache.cells_replaced", "a cache grows while it is robbed",
             &cells_replaced<revocable>},
    scenario{"slot_cache.locked_cells_replaced", "a locked cache grows while it is robbed",
             &cells_replaced<locked>},
    scenario{"slot_cache.closed_takes_no_hits", "cells below a closed cache, and above",
             &closed_takes_no_hits},
    scenario{"slot_cache.locked_theft", "theft from a cache of the locked kind",
             &theft_against_both<locked>},
    scenario{"slot_cache.locked_two_thieves", "two thieves at a locked cache",
             &two_thieves<locked>},
    scenario{"slot_cache.locked_reopened", "a locked cache is robbed, opened, robbed again",
             &robbed_and_reopened<locked>},
    scenario{"slot_cache.locked_left_stolen", "an owner comes back to a robbed locked cache",
             &left_stolen<locked>},
};

}  // namespace

std::span<const scenario> slot_cache_scenarios() {
  return slot_cache_list;
}

}  // namespace model
