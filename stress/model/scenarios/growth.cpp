/// Segments that come while others look for a slot, and go while others have some.
#include <array>
#include <bitset>
#include <cerrno>
#include <memory>
#include <vector>

#include "lido/magazine/growing_source_impl.hpp"
#include "scenarios/ledger.hpp"
#include "scenarios/pooled.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using lido::detail::slot_index;

constexpr auto automatic = cache_choice::automatic;
constexpr auto locked = cache_choice::locked;
constexpr auto none = cache_choice::none;

constexpr std::size_t stride = 2048;  // so that two slots are a page, and a page is a segment
constexpr std::uint32_t most_slots = 8;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): addresses, never written
alignas(64) std::array<std::byte, stride * most_slots> addresses;

/// Which slots have memory. May refuse the first so many times.
struct modelled_memory {
  std::bitset<most_slots> backed;
  int refusals = 0;

  int commit(slot_index first, std::uint32_t count) noexcept {
    if (refusals > 0) {
      --refusals;
      return ENOMEM;
    }
    set(first, count, true);
    return 0;
  }
  int decommit(slot_index first, std::uint32_t count) noexcept {
    set(first, count, false);
    return 0;
  }

 private:
  void set(slot_index first, std::uint32_t count, bool value) noexcept {
    for (slot_index slot = first; slot < first + count; ++slot) {
      require(backed[slot] != value, "memory came twice or went twice");
      backed[slot] = value;
    }
  }
};

/// A source that grows, with the books kept; each slot that is given out must have memory.
class grown {
 public:
  static constexpr std::size_t nothing = pooled::nothing;

  explicit grown(std::uint32_t most, cache_choice caches = automatic, int refusals = 0)
      : caches_(caches != none),
        memory_{{}, refusals},
        source_(lido::detail::slot_geometry(addresses.data(), stride), stride, most, caches,
                /*max_cached=*/8, memory_),
        books_(most) {}

  std::size_t acquire() {
    const auto began = books_.begin();
    const void* const slot = caches_ ? source_.acquire() : source_.acquire_shared();
    if (slot == nullptr) {
      books_.refused(began);
      return nothing;
    }
    const auto number =
        static_cast<std::size_t>(static_cast<const std::byte*>(slot) - addresses.data()) / stride;
    require(memory_.backed[number], "a slot without memory was given out");
    books_.got(number, began);
    return number;
  }

  std::size_t must_acquire() {
    const std::size_t slot = acquire();
    require(slot != nothing || execution::now().had_solo(),
            "an acquire failed although there may be slots for all");
    return slot;
  }

  void release(std::size_t slot) {
    if (slot == nothing) {
      return;
    }
    require(memory_.backed[slot], "the memory of a slot in use was given back");
    books_.gives(slot);
    void* const place = addresses.data() + slot * stride;
    caches_ ? source_.release(place) : source_.release_shared(place);
    books_.gave(slot);
  }

  void use(std::size_t count) {
    std::vector<std::size_t> held;
    for (std::size_t i = 0; i < count; ++i) {
      held.push_back(must_acquire());
    }
    for (const std::size_t slot : held) {
      release(slot);
    }
  }

  void reserve(std::uint32_t slots) { require(source_.reserve(slots) == 0, "no memory"); }
  void shrink_to(std::uint32_t slots) {
    require(source_.shrink_to(slots) >= slots, "fewer slots are left than asked for");
  }

  /// After all slots are back: refusals were right, everything can be acquired at once, and then
  /// all segments can go.
  void check() {
    books_.check_refusals();
    require(source_.stats().in_use == 0, "the numbers do not say what is in use");
    in_threads([&] {
      std::vector<std::size_t> all;
      for (std::size_t slot = acquire(); slot != nothing; slot = acquire()) {
        all.push_back(slot);
      }
      require(all.size() == books_.capacity(), "a slot is lost");
      for (const std::size_t slot : all) {
        release(slot);
      }
      require(source_.shrink_to(0) == 0, "a free segment was kept");
    });
  }

 private:
  bool caches_;
  modelled_memory memory_;
  lido::detail::growing_source<lido::detail::growing_treiber_stack<>, modelled_memory> source_;
  ledger books_;
};

// Nothing is there at first, and each finds or adds what it needs.
template <cache_choice Caches>
void two_grow() {
  grown pool(4, Caches);
  in_threads([&] { pool.use(2); }, [&] { pool.use(2); });
  pool.check();
}

// All slots are free while the shrink looks, and one of them is wanted.
template <cache_choice Caches>
void acquire_against_shrink() {
  grown pool(2, Caches);
  pool.reserve(2);
  in_threads([&] { pool.use(2); }, [&] { pool.shrink_to(0); });
  pool.check();
}

// What the shrink looks for is in a cache that others rob, too.
void shrink_against_theft() {
  grown pool(4);
  pool.reserve(4);
  in_threads([&] { pool.use(2); }, [&] { pool.use(2); }, [&] { pool.shrink_to(2); });
  pool.check();
}

void reserve_against_shrink() {
  grown pool(4);
  pool.reserve(2);
  in_threads([&] { pool.use(1); }, [&] { pool.reserve(4); }, [&] { pool.shrink_to(0); });
  pool.check();
}

// More is wanted than there may be, so that some refusals are right.
void exhausted_beside_shrink() {
  grown pool(2);
  const std::size_t held = pool.acquire();
  in_threads([&] { pool.release(pool.acquire()); },
             [&] {
               pool.shrink_to(0);
               pool.release(pool.acquire());
             });
  pool.release(held);
  pool.check();
}

// Without memory an acquire is refused, and the next one is not.
void refused_memory() {
  grown pool(2, automatic, /*refusals=*/1);
  std::array<std::size_t, 2> first{};
  in_threads([&] { first[0] = pool.acquire(); }, [&] { first[1] = pool.acquire(); });
  require(first[0] != grown::nothing || first[1] != grown::nothing,
          "one refusal of memory was two of slots");
  pool.release(first[0]);
  pool.release(first[1]);
}

constexpr bounds narrow{2, 1, 1};

constexpr std::array scenarios{
    scenario{"growth.two_grow", "two who need slots where there are none", &two_grow<automatic>,
             false, narrow, /*waits=*/true},
    scenario{"growth.uncached_two_grow", "the same without caches", &two_grow<none>, false, narrow,
             /*waits=*/true},
    scenario{"growth.acquire_against_shrink", "a slot that a shrink looks at is wanted",
             &acquire_against_shrink<automatic>, false, narrow, /*waits=*/true},
    scenario{"growth.locked_acquire_against_shrink", "the same, locked caches",
             &acquire_against_shrink<locked>, false, narrow, /*waits=*/true},
    scenario{"growth.uncached_acquire_against_shrink", "the same without caches",
             &acquire_against_shrink<none>, false, narrow, /*waits=*/true},
    scenario{"growth.shrink_against_theft", "two who take slots out of each other's caches",
             &shrink_against_theft, false, narrow, /*waits=*/true},
    scenario{"growth.reserve_against_shrink", "two who change the capacity",
             &reserve_against_shrink, false, narrow, /*waits=*/true},
    scenario{"growth.exhausted_beside_shrink", "refusals that are right", &exhausted_beside_shrink,
             false, narrow, /*waits=*/true},
    scenario{"growth.refused_memory", "the system has no memory once", &refused_memory, false,
             narrow, /*waits=*/true},
};

}  // namespace

std::span<const scenario> growth_scenarios() {
  return scenarios;
}

}  // namespace model
