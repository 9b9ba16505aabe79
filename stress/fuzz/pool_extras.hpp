/// @file
/// Operations that only some kinds of pools have.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "fuzz/check.hpp"
#include "fuzz/misuse_watch.hpp"
#include "fuzz/pool_model.hpp"
#include "fuzz/pool_questions.hpp"

namespace fuzz {

/// Reserves slots in a pool that grows. Requires: no call is under way.
template <class Pool>
void reserve_some(Pool& pool, const pool_model& model, std::size_t slots) {
  const std::size_t before = pool.capacity();
  try {
    pool.reserve(slots);
    check(slots <= model.capacity(), "more slots were added than there may be");
    check(pool.capacity() >= std::max(slots, before), "a pool has less than was reserved");
  } catch (const std::invalid_argument&) {
    check(slots > model.capacity() && pool.capacity() == before, "a reserve was refused");
  }
}

/// Shrinks a pool that grows, with four slots a segment. Requires: no call is under way.
template <class Pool>
void shrink_some(Pool& pool, const pool_model& model, std::size_t slots) {
  const std::size_t before = pool.capacity();
  const std::size_t left = pool.shrink_to(slots);
  check(left == pool.capacity() && left <= before, "a shrink returned something else");
  check(left >= std::max(model.out(), std::min(slots, before)), "a shrink gave too much back");
  check(model.out() > 0 || left < slots + 4, "a shrink left a segment that nobody used");
}

/// Gives idle objects back, in a pool of any kind. Requires: no call is under way.
template <class Kind>
void shrink_objects(typename Kind::pool& pool, const pool_model& model, std::size_t count) {
  const std::size_t live = pool.stats().live;
  if constexpr (Kind::grows) {
    shrink_some(pool, model, count);
  } else {
    const std::size_t before = pool.capacity();
    check(pool.shrink_to(count) == before && pool.capacity() == before,
          "a pool of fixed capacity has lost slots");
    check(pool.stats().live >= std::min(live, count), "a shrink destroyed more than it had to");
  }
  const std::size_t left = pool.stats().live;
  check(!Kind::keeps || left <= std::max(model.out(), count), "a shrink left idle objects");
}

/// Misuses a checked pool. `used` is in use, `released` is not; both may be null.
template <class Pool>
void misuse(misuse_watch& watch, Pool& pool, element<Pool>* used, element<Pool>* released,
            std::size_t how) {
  using object = element<Pool>;
  alignas(object) static std::array<std::byte, sizeof(object)> elsewhere;
  const auto release = [&](std::uintptr_t address) {
    pool.release(std::bit_cast<object*>(address));
  };
  if (how % 3 == 0) {
    watch.expect(lido::misuse_kind::foreign_pointer,
                 [&] { release(std::bit_cast<std::uintptr_t>(elsewhere.data())); });
  } else if (how % 3 == 1 && used != nullptr) {
    const std::size_t beside = 1 + how % (sizeof(object) - 1);
    watch.expect(lido::misuse_kind::inside_slot,
                 [&] { release(std::bit_cast<std::uintptr_t>(used) + beside); });
  } else if (released != nullptr) {
    watch.expect(lido::misuse_kind::double_release, [&] { pool.release(released); });
  }
}

}  // namespace fuzz
