/// @file
/// Internal. Many objects of a pool at once, in few trips to its source.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "lido/base/scope_exit.hpp"
#include "lido/magazine/depot.hpp"
#include "lido/object/slot_route.hpp"

namespace lido::detail {

/// What `try_acquire_n` and `release_n` of `Pool` do; a friend of its. `Place` says where they were
/// called.
template <class Pool, class Place>
struct bulk {
  using object = typename Pool::value_type;
  using route = slot_route<typename Pool::cache_policy>;
  static constexpr std::size_t chunk = most_per_trip;

  /// See `try_acquire_n`.
  static std::size_t acquire(Pool& pool, Place at, std::span<object*> out) {
    std::size_t count = 0;
    scope_exit undo([&] { release(pool, at, out.first(count)); });
    while (count < out.size()) {
      std::array<void*, chunk> slots;
      const std::size_t wanted = std::min(out.size() - count, slots.size());
      const std::size_t taken = route::take_n(pool.source_, std::span(slots).first(wanted));
      construct(pool, at, std::span<void* const>(slots).first(taken), out, count);
      if (taken < wanted) {
        break;
      }
    }
    undo.dismiss();
    return count;
  }

  /// See `release_n`.
  static void release(Pool& pool, Place at, std::span<object* const> objects) noexcept {
    while (!objects.empty()) {
      std::array<void*, chunk> slots;
      std::size_t admitted = 0;
      for (; admitted < slots.size() && !objects.empty(); objects = objects.subspan(1)) {
        slots[admitted] = objects.front();
        admitted += pool.destroy_if_admitted(objects.front(), at) ? 1U : 0U;
      }
      route::put_n(pool.source_, std::span<void* const>(slots).first(admitted));
    }
  }

 private:
  static void construct(Pool& pool, Place at, std::span<void* const> slots, std::span<object*> out,
                        std::size_t& count) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      // What is in `out` is the caller's to undo; the slots not yet used are this function's.
      scope_exit give_back([&] { route::put_n(pool.source_, slots.subspan(i + 1)); });
      out[count] = pool.construct(at, slots[i]);
      ++count;
      give_back.dismiss();
    }
  }
};

}  // namespace lido::detail
