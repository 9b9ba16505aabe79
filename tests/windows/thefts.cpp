// Owners of caches against a raider that robs them, with or without a heavy fence.
//
// Usage: thefts real|none SECONDS
//
// Without the fence a raider and an owner both take one slot, or a thread never returns from the
// pool. A watchdog ends such a run.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/wine_fence.hpp"

namespace {

using std::chrono::steady_clock;

constexpr std::size_t capacity = 64;
constexpr std::size_t most_held = 8;
constexpr std::uint64_t between_raids = 500;  // operations
constexpr unsigned owners = 3;
constexpr unsigned raiders = 1;
constexpr std::chrono::seconds patience(15);

struct owned {
  unsigned owner;  // 0: none. The last owner's value remains

  unsigned replace(unsigned now) {
    return std::atomic_ref(owner).exchange(now, std::memory_order_relaxed);
  }
};
using pool_type = lido::object_pool<owned>;

[[noreturn]] void end(const char* what) {
  std::printf("BROKEN: %s\n", what);
  (void)std::fflush(stdout);
  std::_Exit(EXIT_FAILURE);
}

/// A cache line that every thread writes, without need: stores to the pool wait behind such a
/// write, so that a missing fence shows.
struct alignas(128) {
  std::atomic<unsigned> word{0};
} contended;

/// Counts of one thread.
struct alignas(128) counted {
  std::atomic<std::uint64_t> operations{0};
};

struct run {
  pool_type pool{{.capacity = capacity, .caches = lido::cache_kind::revocable}};
  std::array<counted, owners + raiders> counts;
  std::atomic<bool> is_over{false};

  void count(unsigned me) { counts.at(me).operations.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t operations() const {
    std::uint64_t sum = 0;
    for (const counted& one : counts) {
      sum += one.operations.load(std::memory_order_relaxed);
    }
    return sum;
  }

  [[nodiscard]] owned* take(unsigned me) {
    contended.word.store(me, std::memory_order_relaxed);
    owned* const object = pool.try_acquire_ptr(lido::default_init);
    if (object != nullptr && object->replace(me + 1) != 0) {
      end("an object has two owners");
    }
    count(me);
    return object;
  }

  void leave(owned* object, unsigned me) {
    contended.word.store(me, std::memory_order_relaxed);
    if (object->replace(0) != me + 1) {
      end("an object has two owners");
    }
    pool.release(object);
    count(me);
  }
};

void clear_owners(pool_type& pool) {
  std::array<owned*, capacity> objects{};
  if (pool.try_acquire_n(std::span(objects)) != capacity) {
    end("slots are lost");
  }
  for (owned* const object : objects) {
    object->owner = 0;
  }
  pool.release_n(objects);
}

/// Acquires and releases, with a changing number of objects.
void own(run& all, unsigned me) {
  std::minstd_rand random(me + 1);
  std::vector<owned*> held;
  while (!all.is_over.load(std::memory_order_relaxed)) {
    const std::size_t wanted = random() % (most_held + 1);
    while (held.size() > wanted) {
      all.leave(held.back(), me);
      held.pop_back();
    }
    while (held.size() < wanted) {
      owned* const object = all.take(me);
      if (object == nullptr) {
        break;  // the raider has all objects
      }
      held.push_back(object);
    }
  }
  for (owned* const object : held) {
    all.leave(object, me);
  }
}

/// Takes all objects, and gives them back. Between two raids caches are opened again.
void raid(run& all, unsigned me) {
  std::vector<owned*> loot;
  while (!all.is_over.load(std::memory_order_relaxed)) {
    while (owned* const object = all.take(me)) {
      loot.push_back(object);
    }
    for (owned* const object : loot) {
      all.leave(object, me);
    }
    loot.clear();
    const std::uint64_t seen = all.operations();
    while (all.operations() < seen + between_raids &&
           !all.is_over.load(std::memory_order_relaxed)) {
      std::this_thread::yield();
    }
  }
}

/// Ends the program if a thread makes no more progress.
void watch(const run& all, steady_clock::time_point until) {
  struct seen {
    std::uint64_t operations = 0;
    steady_clock::time_point at = steady_clock::now();
  };
  std::array<seen, owners + raiders> before{};
  while (steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::uint64_t operations = all.counts.at(i).operations.load(std::memory_order_relaxed);
      if (operations != before.at(i).operations) {
        before.at(i) = {operations};
      } else if (steady_clock::now() - before.at(i).at > patience) {
        end("no progress for 15 seconds");
      }
    }
  }
}

/// Requires: no thread uses the pool.
void require_all(run& all) {
  std::vector<owned*> taken;
  while (owned* const object = all.take(0)) {
    taken.push_back(object);
  }
  if (taken.size() != capacity) {
    end("slots are lost");
  }
  for (owned* const object : taken) {
    all.leave(object, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const bool is_real = arguments.size() == 3 && arguments[1] == "real";
  if (!lido::test::choose_heavy_fence(is_real ? lido::test::heavy_fence::real
                                              : lido::test::heavy_fence::none)) {
    std::puts("skipped: membarrier(2) is refused, which this test needs under Wine");
    return 77;
  }
  static run all;
  if (all.pool.stats().caches != lido::cache_kind::revocable) {
    end("caches are not revocable");
  }
  clear_owners(all.pool);
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < owners + raiders; ++me) {
    threads.emplace_back([me] { me < owners ? own(all, me) : raid(all, me); });
  }
  const auto start = steady_clock::now();
  watch(all, start + std::chrono::seconds(std::stoi(arguments.at(2))));
  all.is_over = true;
  std::atomic<bool> joined{false};
  std::thread watchdog([&joined] {
    const auto begin = steady_clock::now();
    while (!joined && steady_clock::now() - begin < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (!joined) {
      end("no progress for 15 seconds");
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  joined = true;
  watchdog.join();
  const std::uint64_t operations = all.operations();
  const std::uint64_t thefts = all.pool.stats().thefts;
  require_all(all);
  if (thefts == 0) {
    end("no cache was robbed, so the run shows nothing");
  }
  std::printf("report: operations=%llu thefts=%llu\n", static_cast<unsigned long long>(operations),
              static_cast<unsigned long long>(thefts));
  return EXIT_SUCCESS;
}
