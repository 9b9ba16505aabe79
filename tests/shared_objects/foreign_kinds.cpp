// Pools of every kind, made and used with the copy of Lido that this file is linked with.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <memory_resource>
#include <thread>

#include "foreign.hpp"
#include "lido/block_resource.hpp"
#include "lido/checked.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/object_pool.hpp"
#include "lido/resource_pool.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t capacity = 256;

template <class T>
std::uintptr_t word_of(T* object) {
  return std::bit_cast<std::uintptr_t>(object);
}
template <class T>
T* object_of(std::uintptr_t word) {
  return std::bit_cast<T*>(word);
}

struct counting_traits : lido::pool_traits<int> {
  static constexpr bool counts = true;
};

template <class Pool, lido::when_full Full = lido::when_full::fail,
          lido::cache_kind Caches = lido::cache_kind::revocable>
struct pools {
  static Pool& at(void* pool) { return *static_cast<Pool*>(pool); }
  static void* make() {
    const bool grows = Full == lido::when_full::grow;
    return new Pool({.capacity = grows ? 1 : capacity,
                     .name = "jobs",
                     .max_capacity = grows ? capacity : 0,
                     .when_full = Full,
                     .caches = Caches});
  }
  static void destroy(void* pool) { delete &at(pool); }
  static std::uintptr_t take(void* pool) {
    return word_of(at(pool).try_acquire_ptr(lido::default_init));
  }
  static void give(void* pool, std::uintptr_t taken) { at(pool).release(object_of<int>(taken)); }
};
using plain = pools<lido::object_pool<int>>;

constexpr std::array plain_calls{
    foreign_call{"stats", [](void* pool) { (void)plain::at(pool).stats(); }},
    foreign_call{"capacity", [](void* pool) { (void)plain::at(pool).capacity(); }},
};

/// Acquires many at once, and releases all but the first at once.
struct many : plain {
  static std::uintptr_t take(void* pool) {
    std::array<int*, 40> taken{};
    const std::size_t count = at(pool).try_acquire_n(std::span<int*>(taken));
    at(pool).release_n(std::span(taken).first(count).subspan(1));
    return word_of(taken.front());
  }
  static void give(void* pool, std::uintptr_t taken) {
    std::array one{object_of<int>(taken)};
    at(pool).release_n(one);
  }
};

/// Uses an acquire that may wait, and the end of a lease.
struct waits : pools<lido::object_pool<int>, lido::when_full::wait> {
  static std::uintptr_t take(void* pool) {
    return word_of(new lido::lease<int>(at(pool).acquire_for(std::chrono::seconds(10))));
  }
  static void give(void* /*pool*/, std::uintptr_t taken) {
    delete object_of<lido::lease<int>>(taken);
  }
};

struct maps {
  using map = lido::concurrent_slot_map<int>;
  static map& at(void* pool) { return *static_cast<map*>(pool); }
  static void* make() { return new map({.max_size = capacity, .name = "jobs"}); }
  static void destroy(void* pool) { delete &at(pool); }
  static std::uintptr_t take(void* pool) {
    return std::bit_cast<std::uintptr_t>(at(pool).try_emplace(1));
  }
  static void give(void* pool, std::uintptr_t taken) {
    (void)at(pool).erase(std::bit_cast<map::handle_type>(taken));
  }
};

struct blocks {
  using allocator = lido::block_allocator<std::array<char, 64>>;
  static lido::block_resource& at(void* pool) { return *static_cast<lido::block_resource*>(pool); }
  static void* make() {
    return new lido::block_resource({.block_bytes = 64, .blocks = capacity, .name = "jobs"});
  }
  static void destroy(void* pool) { delete &at(pool); }
  static std::uintptr_t take(void* pool) { return word_of(allocator(at(pool)).allocate(1)); }
  static void give(void* pool, std::uintptr_t taken) {
    allocator(at(pool)).deallocate(object_of<std::array<char, 64>>(taken), 1);
  }
};

/// Uses block resources through virtual functions, which are those of the maker's copy.
struct memory_resources {
  static std::pmr::memory_resource& at(void* pool) {
    return *static_cast<std::pmr::memory_resource*>(pool);
  }
  static void* make() {
    return static_cast<std::pmr::memory_resource*>(&blocks::at(blocks::make()));
  }
  static void destroy(void* pool) { delete &at(pool); }
  static std::uintptr_t take(void* pool) { return word_of(at(pool).allocate(64)); }
  static void give(void* pool, std::uintptr_t taken) {
    at(pool).deallocate(object_of<void>(taken), 64);
  }
};

/// Leases may end anywhere: the pool's own code does everything beyond a compare-and-swap.
struct resources {
  using pool_type = lido::resource_pool<int>;
  static pool_type& at(void* pool) { return *static_cast<pool_type*>(pool); }
  static void* make() {
    return new pool_type([] { return 1; }, {.max_size = 8, .name = "jobs"});
  }
  static void destroy(void* pool) { delete &at(pool); }
  static std::uintptr_t take(void* pool) {
    return word_of(new pool_type::lease_type(at(pool).acquire()));
  }
  static void give(void* /*pool*/, std::uintptr_t taken) {
    delete object_of<pool_type::lease_type>(taken);
  }
};

constexpr std::array resource_calls{
    foreign_call{"kill", [](void* pool) { (void)resources::at(pool).kill({}); }},
    foreign_call{"suspend", [](void* pool) { resources::at(pool).suspend(); }},
    foreign_call{"resume", [](void* pool) { resources::at(pool).resume(); }},
    foreign_call{"tick", [](void* pool) { resources::at(pool).tick(); }},
    foreign_call{"watch_leases", [](void* pool) { resources::at(pool).watch_leases(true); }},
    foreign_call{"close", [](void* pool) { (void)resources::at(pool).close(0s); }},
    foreign_call{"async_close",
                 [](void* pool) {
                   resources::at(pool).async_close([](const lido::close_report&) {}, 0s);
                   std::this_thread::sleep_for(10ms);
                 }},
    foreign_call{"flush", [](void* pool) { resources::at(pool).flush(); }},
    foreign_call{"replace_factory",
                 [](void* pool) { resources::at(pool).replace_factory([] { return 2; }); }},
    foreign_call{"resize", [](void* pool) { resources::at(pool).resize(4); }},
    foreign_call{"wait_until_idle",
                 [](void* pool) { (void)resources::at(pool).wait_until_idle(0, 0s); }},
    foreign_call{"stats", [](void* pool) { (void)resources::at(pool).stats(); }},
    foreign_call{"times", [](void* pool) { (void)resources::at(pool).times(); }},
    foreign_call{"leases", [](void* pool) { (void)resources::at(pool).leases(); }},
};

template <class Pools>
constexpr foreign_kind kind(const char* name, bool may_take = false, bool may_give = false) {
  return {name, Pools::make, Pools::destroy, Pools::take, Pools::give, may_take, may_give};
}

template <std::size_t Count>
constexpr foreign_kind with_calls(foreign_kind one, const std::array<foreign_call, Count>& calls) {
  one.calls = calls.data();
  one.count_calls = Count;
  return one;
}

constexpr auto fail = lido::when_full::fail;
using lido::cache_kind;
constexpr std::array kinds{
    with_calls(kind<plain>("plain"), plain_calls),
    kind<pools<lido::object_pool<int>, fail, cache_kind::locked>>("locked caches"),
    kind<pools<lido::object_pool<int>, fail, cache_kind::none>>("no caches"),
    kind<pools<lido::object_pool<int>, lido::when_full::grow>>("growing"),
    kind<pools<lido::object_pool<int, lido::checked_traits<int>>>>("checked"),
    kind<pools<lido::object_pool<int, counting_traits>>>("counting"),
    kind<many>("many at once"),
    kind<waits>("waiting"),
    kind<maps>("map"),
    kind<blocks>("blocks"),
    kind<memory_resources>("memory resource", /*may_take=*/true, /*may_give=*/true),
    with_calls(kind<resources>("resources", /*may_take=*/false, /*may_give=*/true), resource_calls),
};

}  // namespace

foreign_kinds foreign_kinds_here() {
  return {kinds.data(), kinds.size()};
}
