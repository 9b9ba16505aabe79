/// Objects that outlive their release: what one thread did to an object, and whether its slot holds
/// one, is visible to the next user of the slot.
#include <array>
#include <cstdint>
#include <optional>

#include "checker/plain.hpp"
#include "lido/object_pool.hpp"
#include "scenarios/waited_for.hpp"

namespace model {

namespace {

using lido::detail::atomic;

constexpr int uses_of_one = 2;  // then it is refused

struct thing {
  plain<int> uses;
};

/// Counts of things made and destroyed; the model runs one thread at a time.
struct things {
  int made = 0;
  int ended = 0;
};

struct counting_hooks {
  things* count;
  thing create() const noexcept {
    ++count->made;
    return {};
  }
  static bool deactivate(thing& object) { return object.uses.read() < uses_of_one; }
  void destroy(thing& /*object*/) const noexcept { ++count->ended; }
};

struct kept_traits : lido::pool_traits<thing> {
  using hooks = counting_hooks;
};

/// A pool that keeps its objects.
class keeping {
 public:
  keeping(std::uint32_t capacity, cache_kind caches) : capacity_(capacity) {
    pool_.emplace(lido::object_pool_options{.capacity = capacity, .caches = caches},
                  counting_hooks{&count_});
  }

  /// Returns null if there is no free slot.
  thing* acquire() {
    thing* const object = pool_->try_acquire_ptr();
    if (object != nullptr) {
      const int uses = object->uses.read();
      require(uses < uses_of_one, "an object that was refused is in use again");
      object->uses.write(uses + 1);
    }
    return object;
  }

  void release(thing* object) { pool_->release(object); }
  void use() { release(acquire()); }

  /// Checks the pool when all threads have ended.
  void check() {
    const lido::slot_pool_stats quiet = pool_->stats();
    require(quiet.in_use == 0 && quiet.idle == capacity_, "a slot is lost");
    require(count_.made - count_.ended == static_cast<int>(quiet.live),
            "the pool counts other objects");
    pool_.reset();
    require(count_.made == count_.ended, "an object has ended twice, or not at all");
  }

 private:
  std::uint32_t capacity_;
  things count_;
  std::optional<lido::object_pool<thing, kept_traits>> pool_;
};

// With one slot, each thread gets the object that the other had, or makes the next.
void object_moves_on() {
  keeping pool(1, cache_kind::none);
  pool.use();
  thing* const held = pool.acquire();
  in_threads([&] { pool.release(held); },
             [&] {
               thing* mine = nullptr;
               await([&] { return (mine = pool.acquire()) != nullptr; });
               pool.release(mine);
             });
  pool.check();
}

template <cache_kind Caches>
void objects_change_hands() {
  keeping pool(2, Caches);
  in_threads(
      [&] {
        pool.use();
        pool.use();
      },
      [&] {
        pool.use();
        pool.use();
      });
  pool.check();
}

// The thread that finally has both slots has taken one from the other's cache.
void object_is_stolen() {
  keeping pool(2, cache_kind::revocable);
  atomic<int> over(0);
  in_threads(
      [&] {
        pool.use();
        pool.use();
        over.store(1, std::memory_order_relaxed);
      },
      [&] {
        await([&] { return over.load(std::memory_order_relaxed) == 1; });
        const std::array<thing*, 2> both{pool.acquire(), pool.acquire()};
        for (thing* const object : both) {
          pool.release(object);
        }
      });
  pool.check();
}

constexpr std::array kept_list{
    waits("kept.object_moves_on", "a kept object reaches its next user", &object_moves_on),
    scenario{"kept.objects_change_hands", "kept objects with caches in front",
             &objects_change_hands<cache_kind::revocable>},
    scenario{"kept.objects_change_hands_locked", "kept objects with locked caches in front",
             &objects_change_hands<cache_kind::locked>},
    waits("kept.object_is_stolen", "a kept object is in a cache that is robbed", &object_is_stolen),
};

}  // namespace

std::span<const scenario> kept_scenarios() {
  return kept_list;
}

}  // namespace model
