/// Ends of threads and of pools, and objects whose construction succeeds or fails. S7, S8, S15;
/// hard cases 4, 9, 11, 16.
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "lido/object/object_pool.hpp"
#include "scenarios/pooled.hpp"
#include "src/allocator/spare_tables.hpp"

namespace model {

namespace {

using lido::detail::atomic;

void raid_in_full(pooled& pool, std::size_t count) {
  std::vector<std::size_t> loot;
  for (std::size_t i = 0; i < count; ++i) {
    loot.push_back(pool.acquire());
  }
  for (const std::size_t slot : loot) {
    pool.release(slot);
  }
}

// A thread ends with slots in its cache while another robs that cache.
void exit_against_theft() {
  pooled pool(4);
  in_threads([&] { raid_in_full(pool, 2); }, [&] { raid_in_full(pool, 4); });
  pool.check();
}

void exit_against_two_thieves() {
  pooled pool(2);
  in_threads([&] { pool.acquire_and_release(); }, [&] { raid_in_full(pool, 2); },
             [&] { pool.acquire_and_release(); });
  pool.check();
}

// The slots that an ending thread had cached are available to later threads, without any theft.
void exit_returns_slots() {
  pooled pool(2);
  in_threads([&] { pool.acquire_and_release(); });
  require(pool.stats().cached == 0, "an ended thread has left slots in its cache");
  pool.check();
  require(pool.stats().thefts == 0, "an ended thread's cache had to be robbed");
}

// The second thread inherits the first one's number and cache, also while a thief robs it.
void inherited_number() {
  pooled pool(4);
  in_threads([&] { raid_in_full(pool, 2); },
             [&] {
               raid_in_full(pool, 2);
               raid_in_full(pool, 3);
             });
  in_threads([&] { raid_in_full(pool, 2); }, [&] { raid_in_full(pool, 4); });
  pool.check();
}

// The pool is destroyed while a thread that used it ends, too: its cache is gone, or flushed
// before.
void pool_ends_beside_threads() {
  std::optional<pooled> pool;
  pool.emplace(2U);
  atomic<int> used(0);
  in_threads(
      [&] {
        pool->acquire_and_release();
        used.store(1, std::memory_order_release);
      },
      [&] {
        while (used.load(std::memory_order_acquire) == 0) {
          execution::now().rest();
        }
        pool.reset();
      });
}

// Two pools and a thread that used both: one is destroyed, the other continues.
void one_of_two_pools_ends() {
  std::optional<pooled> first;
  first.emplace(2U);
  pooled second(2);
  atomic<int> used(0);
  in_threads(
      [&] {
        first->acquire_and_release();
        second.acquire_and_release();
        used.store(1, std::memory_order_release);
        second.acquire_and_release();
      },
      [&] {
        while (used.load(std::memory_order_acquire) == 0) {
          execution::now().rest();
        }
        first.reset();
        first.emplace(2U);
        first->acquire_and_release();
        second.acquire_and_release();
      });
  second.check();
  first->check();
}

/// During its lifetime, a destroyed pool leaves its table to the next one.
class kept_tables {
 public:
  kept_tables() {
    tuning::most_cleared = tuning::thread_numbers;
    lido::detail::spares.drop();
  }
  kept_tables(const kept_tables&) = delete;
  kept_tables& operator=(const kept_tables&) = delete;
  ~kept_tables() {
    lido::detail::spares.drop();
    tuning::most_cleared = 0;
  }

 private:
  using tuning = lido::detail::tuning;
};

// One thread destroys a pool that two have used, beside another that makes the next one, with or
// without the table of the first. Neither thread notices when they use the second pool.
void next_pool_takes_the_table() {
  const kept_tables kept;
  std::optional<pooled> first;
  std::optional<pooled> second;
  first.emplace(2U);
  atomic<int> used(0);
  atomic<int> made(0);
  in_threads(
      [&] {
        first->acquire_and_release();
        await([&] { return used.load(std::memory_order_acquire) == 1; });
        first.reset();
        await([&] { return made.load(std::memory_order_acquire) == 1; });
        second->acquire_and_release();
      },
      [&] {
        first->acquire_and_release();
        used.store(1, std::memory_order_release);
        second.emplace(2U);
        made.store(1, std::memory_order_release);
        second->acquire_and_release();
      });
  second->check();
}

/// Objects made and destroyed in turns at each address (I4); failed constructions leave nothing.
class fragile {
 public:
  explicit fragile(bool breaks) {
    if (breaks) {
      throw std::runtime_error("not this one");
    }
    require(alive().insert(this).second, "an object was made where another lives");
    content_.write(1);
  }
  fragile(const fragile&) = delete;
  fragile& operator=(const fragile&) = delete;
  ~fragile() {
    content_.write(0);
    require(alive().erase(this) == 1, "an object was ended twice");
  }

  /// The model runs one thread at a time; failed executions may leave objects.
  static std::set<const fragile*>& alive() {
    static std::set<const fragile*> all;
    return all;
  }

 private:
  plain<int> content_;
};

using fragile_pool = lido::object_pool<fragile>;

void make(fragile_pool& pool, bool breaks) {
  try {
    const auto lease = pool.try_acquire(breaks);
  } catch (const std::runtime_error&) {
    // the slot must be there again
  }
}

void check(fragile_pool& pool) {
  in_threads([&] {
    std::vector<fragile_pool::lease_type> all;
    for (auto one = pool.try_acquire(false); one; one = pool.try_acquire(false)) {
      all.push_back(std::move(one));
    }
    require(all.size() == pool.capacity(), "a slot is lost");
  });
}

void constructor_throws() {
  fragile_pool pool(2);
  in_threads(
      [&] {
        make(pool, false);
        make(pool, true);
      },
      [&] {
        make(pool, true);
        make(pool, false);
      });
  check(pool);
}

void objects_between_threads() {
  fragile_pool pool(2);
  const auto body = [&] {
    make(pool, false);
    make(pool, false);
  };
  in_threads(body, body);
  check(pool);
}

int made_before_one_throws = 0;

class counted {
 public:
  counted() {
    if (made_before_one_throws-- == 0) {
      throw std::runtime_error("not this one");
    }
  }
};

// One of several constructions fails: the objects before it are destroyed, the slots behind it put
// back.
void bulk_constructor_throws() {
  constexpr std::size_t capacity = 4;
  lido::object_pool<counted> pool(capacity);
  in_threads([&] {
    std::array<counted*, capacity> all{};
    for (int before = 0; before < static_cast<int>(capacity); ++before) {
      made_before_one_throws = before;
      try {
        (void)pool.try_acquire_n(all);
        require(false, "a constructor has thrown and nobody heard of it");
      } catch (const std::runtime_error&) {
        require(pool.stats().in_use == 0,
                "of several objects some are kept though one was not made");
      }
    }
    made_before_one_throws = capacity;
    require(pool.try_acquire_n(all) == capacity, "a slot is lost");
    pool.release_n(all);
  });
}

constexpr std::array lifetime_list{
    scenario{"lifetime.exit_against_theft", "a thread ends while its cache is robbed (S7)",
             &exit_against_theft, false, narrow},
    scenario{"lifetime.exit_against_two_thieves", "the same with two thieves",
             &exit_against_two_thieves, false, narrow},
    scenario{"lifetime.exit_returns_slots", "an ended thread keeps nothing", &exit_returns_slots},
    scenario{"lifetime.inherited_number", "a number and its cache change hands", &inherited_number,
             false, narrow},
    scenario{"lifetime.pool_ends_beside_threads", "a pool and its thread end in any order (S8)",
             &pool_ends_beside_threads, false, bounds{}, /*waits=*/true},
    scenario{"lifetime.one_of_two_pools_ends", "a pool ends, another takes its place",
             &one_of_two_pools_ends, false, narrow, /*waits=*/true},
    scenario{"lifetime.next_pool_takes_the_table", "a pool ends beside the start of the next one",
             &next_pool_takes_the_table, false, narrow, /*waits=*/true},
    scenario{"lifetime.constructor_throws", "a slot whose object is not made (S15)",
             &constructor_throws, false, narrow},
    scenario{"lifetime.bulk_constructor_throws", "one of several objects is not made (S15)",
             &bulk_constructor_throws},
    scenario{"lifetime.objects_between_threads", "an object is whole for its next owner",
             &objects_between_threads, false, narrow},
};

}  // namespace

std::span<const scenario> lifetime_scenarios() {
  return lifetime_list;
}

}  // namespace model
