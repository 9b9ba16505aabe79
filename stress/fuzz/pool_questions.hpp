/// @file
/// What a pool must answer while no operation is under way.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "fuzz/check.hpp"
#include "fuzz/payload.hpp"
#include "fuzz/pool_model.hpp"
#include "lido/base/pool_stats.hpp"

namespace fuzz {

template <class Pool>
using element = typename Pool::value_type;

template <class Pool>
void check_walk(Pool& pool, const pool_model& model) {
  const payload* last = nullptr;
  std::size_t count = 0;
  pool.for_each_in_use([&](const payload& object) {
    check(last == nullptr || last < &object, "a walk went out of order");
    check(model.has(&object), "a walk came to an object that is not out");
    last = &object;
    ++count;
  });
  check(count == model.out(), "a walk missed an object");
}

/// Checks that `object` belongs to the pool, and that the address `offset` beside it does not,
/// unless `offset` is 0.
template <class Pool>
void check_ownership(const Pool& pool, const pool_model& model, const element<Pool>& object,
                     std::size_t offset) {
  const auto owns = [&](std::uintptr_t address) {
    return pool.owns(std::bit_cast<const element<Pool>*>(address));
  };
  const auto address = std::bit_cast<std::uintptr_t>(&object);
  const std::size_t beyond = offset * model.capacity() * sizeof(object);
  const std::size_t middle = offset % sizeof(object);
  check(!owns(0), "the pool owns a null pointer");
  check(owns(address + beyond) == (offset == 0), "the pool errs about a pointer past its end");
  check(owns(address - beyond) == (offset == 0), "the pool errs about a pointer before its start");
  check(owns(address + middle) == (middle == 0), "the pool errs about the middle of an object");
}

/// Checks the index of an object in use.
template <class Pool>
void check_index(Pool& pool, const pool_model& model, const element<Pool>& object) {
  const std::uint32_t index = pool.index_of(&object);
  check(index < model.capacity(), "an index is beyond the pool");
  check(&pool.at(index) == &object, "another object has the index");
  check(&std::as_const(pool).at(index) == &object, "another object has the index in a const pool");
}

template <class Kind>
void check_stats(const typename Kind::pool& pool, const pool_model& model, std::size_t threads) {
  const lido::slot_pool_stats stats = pool.stats();
  check(Kind::grows ? stats.capacity <= model.capacity() : stats.capacity == model.capacity(),
        "the capacity changed");
  check(stats.in_use == model.out(), "in_use is wrong at rest");
  check(stats.in_use + stats.idle == stats.capacity, "the numbers do not add up");
  check(stats.open_caches <= threads, "a cache is open that no thread has");
  check(payload::counts().live == static_cast<long>(stats.live),
        "objects made and destroyed differ");
  check(Kind::keeps ? stats.live >= model.out() && stats.live <= stats.capacity
                    : stats.live == model.out(),
        "objects exist that should not, or do not that should");
}

}  // namespace fuzz
