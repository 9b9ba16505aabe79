/// Objects that outlive their release: what one thread did to an object, and whether its slot holds
/// one, has reached the next who has the slot.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "checker/plain.hpp"
#include "lido/object/kept_objects.hpp"
#include "scenarios/pooled.hpp"
#include "scenarios/waited_for.hpp"

namespace model {

namespace {

using lido::detail::atomic;
using lido::detail::slot_index;

constexpr int uses_of_one = 2;  // then it is refused

struct thing {
  plain<int> uses;
};

/// What has become of things; the model runs one thread at a time.
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

/// As the library's own bytes, but a race for one shows.
template <class T>
class raced_array {
 public:
  explicit raced_array(std::uint32_t count) : cells_(count) {}

  struct cell : plain<T> {
    // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): stands for a T
    operator T() { return this->read(); }
    cell& operator=(T value) {
      this->write(value);
      return *this;
    }
  };
  cell& operator[](std::size_t at) const { return cells_.at(at); }

 private:
  mutable std::vector<cell> cells_;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as memory is
alignas(thing) std::array<std::array<std::byte, sizeof(thing)>, pooled::most_slots> memory;

struct places {
  static void* address_of(slot_index slot) { return memory.at(slot).data(); }
  static slot_index index_of(const thing* object) {
    const auto* const at = static_cast<const std::byte*>(static_cast<const void*>(object));
    return static_cast<slot_index>((at - memory[0].data()) / sizeof(thing));
  }
};

/// A pool that keeps its objects.
class keeping {
 public:
  keeping(std::uint32_t capacity, cache_choice caches)
      : capacity_(capacity), pool_(capacity, caches), objects_(capacity, {&count_}) {}

  /// Nothing if there is no free slot.
  std::size_t acquire() {
    const std::size_t slot = pool_.acquire();
    if (slot != pooled::nothing) {
      thing* const object =
          objects_.make(slots_, places::address_of(static_cast<slot_index>(slot)));
      const int uses = object->uses.read();
      require(uses < uses_of_one, "an object that was refused is in use again");
      object->uses.write(uses + 1);
    }
    return slot;
  }

  void release(std::size_t slot) {
    if (slot != pooled::nothing) {
      void* const place = places::address_of(static_cast<slot_index>(slot));
      (void)objects_.finish(slots_, static_cast<thing*>(place));
    }
    pool_.release(slot);
  }

  void use() { release(acquire()); }

  /// After all threads.
  void check() {
    pool_.check();
    const auto kept = objects_.created(0);
    require(count_.made - count_.ended == static_cast<int>(kept), "the pool counts other objects");
    std::size_t found = 0;
    objects_.destroy_kept(slots_, 0, capacity_, [&] { ++found; });
    require(found == kept, "an object is in no slot");
    require(count_.made == count_.ended, "an object has ended twice, or not at all");
  }

 private:
  std::uint32_t capacity_;
  things count_;
  places slots_;
  pooled pool_;
  lido::detail::kept_objects<thing, counting_hooks, raced_array> objects_;
};

// One slot, so each has the object that the other had, or makes the next.
void object_moves_on() {
  keeping pool(1, cache_choice::none);
  pool.use();
  const std::size_t slot = pool.acquire();
  in_threads([&] { pool.release(slot); },
             [&] {
               std::size_t mine = pooled::nothing;
               await([&] { return (mine = pool.acquire()) != pooled::nothing; });
               pool.release(mine);
             });
  pool.check();
}

template <cache_choice Caches>
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

// Who has both slots at last has taken one from the other's cache.
void object_is_stolen() {
  keeping pool(2, cache_choice::automatic);
  atomic<int> over(0);
  in_threads(
      [&] {
        pool.use();
        pool.use();
        over.store(1, std::memory_order_relaxed);
      },
      [&] {
        await([&] { return over.load(std::memory_order_relaxed) == 1; });
        const std::array<std::size_t, 2> both{pool.acquire(), pool.acquire()};
        for (const std::size_t slot : both) {
          pool.release(slot);
        }
      });
  pool.check();
}

constexpr std::array scenarios{
    waits("kept.object_moves_on", "a kept object reaches its next user", &object_moves_on),
    scenario{"kept.objects_change_hands", "kept objects with caches in front",
             &objects_change_hands<cache_choice::automatic>},
    scenario{"kept.objects_change_hands_locked", "kept objects with locked caches in front",
             &objects_change_hands<cache_choice::locked>},
    waits("kept.object_is_stolen", "a kept object is in a cache that is robbed", &object_is_stolen),
};

}  // namespace

std::span<const scenario> kept_scenarios() {
  return scenarios;
}

}  // namespace model
