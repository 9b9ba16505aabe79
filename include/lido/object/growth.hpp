/// @file
/// Public: what a pool with `policy::grow` has more. Internal: what an object_pool is made of when
/// its capacity is fixed, and when it grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "lido/base/address_space.hpp"
#include "lido/base/heap_array.hpp"
#include "lido/concurrency/mapped_array.hpp"
#include "lido/magazine/growing_source_impl.hpp"
#include "lido/magazine/slot_source_impl.hpp"
#include "lido/memory/slot_array.hpp"
#include "lido/object/options.hpp"
#include "lido/object/policy.hpp"
#include "lido/object/segment_backing.hpp"
#include "lido/object/use_tracking.hpp"

namespace lido::detail {

/// Throws std::invalid_argument that names the option.
void check_options(const object_pool_options& options, bool grows);
void check_reserve(std::string_view pool_name, std::size_t slots, std::size_t most);

/// Most slots that `max_capacity` and `max_bytes` allow. Throws std::invalid_argument when
/// max_bytes is less than a segment, or all together less than `capacity`;
/// std::bad_array_new_length when the size overflows.
[[nodiscard]] std::uint32_t most_slots_of(const object_pool_options& options, std::size_t stride);

/// Of a pool whose capacity is fixed.
template <class T, class ListPolicy, class LifeCyclePolicy, bool Tracks, bool Grows>
struct pool_parts {
  using slots = slot_array<T>;
  using tracking = use_tracking<Tracks>;
  using life_cycle = typename LifeCyclePolicy::template life_cycle<T, heap_array>;
  struct backing {
    constexpr backing(const slots& /*slots*/, tracking& /*tracking*/,
                      life_cycle& /*life*/) noexcept {}
  };
  using source = slot_source<typename ListPolicy::stack>;

  static std::uint32_t most_slots(const object_pool_options& options) noexcept {
    return static_cast<std::uint32_t>(options.capacity);
  }
  // NOLINTNEXTLINE(readability-function-size): each is something else, and there is one caller
  static source make_source(const slots& slots, std::uint32_t capacity, cache_choice caches,
                            const object_pool_options& options, waiting_choice waiting,
                            backing& /*backing*/) {
    return source(slots.geometry(), capacity, caches,
                  static_cast<std::uint32_t>(options.max_cached), waiting);
  }
  static std::size_t take_present(source& from, std::span<void*> out) noexcept {
    return from.acquire_n(out);
  }
};

/// Of a pool that grows.
template <class T, class ListPolicy, class LifeCyclePolicy, bool Tracks>
struct pool_parts<T, ListPolicy, LifeCyclePolicy, Tracks, true> {
  using slots = slot_array<T, address_space>;
  using tracking = use_tracking<Tracks, mapped_array>;
  using life_cycle = typename LifeCyclePolicy::template life_cycle<T, mapped_array>;
  using backing = segment_backing<T, tracking, life_cycle>;
  using source = growing_source<typename ListPolicy::growing_stack, backing>;

  static std::uint32_t most_slots(const object_pool_options& options) {
    return most_slots_of(options, sizeof(T));
  }
  // NOLINTNEXTLINE(readability-function-size): each is something else, and there is one caller
  static source make_source(const slots& slots, std::uint32_t capacity, cache_choice caches,
                            const object_pool_options& options, waiting_choice /*waiting*/,
                            backing& backing) {
    return source(slots.geometry(), sizeof(T), capacity, caches,
                  static_cast<std::uint32_t>(options.max_cached), backing);
  }
  static std::size_t take_present(source& from, std::span<void*> out) noexcept {
    return from.acquire_present_n(out);
  }
};

/// The functions that only a pool with `policy::grow` has; a base of `object_pool`.
template <class Pool>
class growth_functions {
 public:
  /// Adds segments until there are `slots` slots at least; with `creation::eager` creates an object
  /// in each of theirs before anybody can have it. Throws std::invalid_argument when that is more
  /// than max_capacity(), growth_failed when the system has no memory, or when what is missing are
  /// segments in which hooks of other calls have been busy with one object for a tenth of a second,
  /// and what the hook `create` throws. What was added and created before stays. Thread-safe.
  /// Blocking, beside other calls of this and of shrink_to.
  void reserve(std::size_t slots) {
    check_reserve(self().name(), slots, self().max_capacity());
    if (const int error = add(static_cast<std::uint32_t>(slots)); error != 0) {
      self().report_growth_failed(error);
    }
  }

  /// Gives the memory of segments whose slots are all free back to the system, highest addresses
  /// first, as long as `slots` slots are left; returns how many are. Finds free slots in the caches
  /// of other threads, too; a slot that a thread is moving at that moment keeps its segment.
  /// Thread-safe. Others go on meanwhile, but an acquire that finds no slot waits until this one
  /// has looked at all free slots, some nanoseconds for each; one that needs a segment whose kept
  /// objects are being destroyed waits for the hook, up to a tenth of a second for each object.
  /// Blocking, as reserve.
  std::size_t shrink_to(std::size_t slots) noexcept {
    const std::size_t least = std::min(slots, self().max_capacity());
    return self().source_.shrink_to(static_cast<std::uint32_t>(least));
  }

 protected:
  growth_functions() = default;
  ~growth_functions() = default;

 private:
  [[nodiscard]] Pool& self() noexcept { return static_cast<Pool&>(*this); }

  /// Returns the error number of the system.
  [[nodiscard]] int add(std::uint32_t slots) {
    if constexpr (std::remove_reference_t<decltype(self().life_)>::keeps) {
      if (self().life_.is_eager()) {
        return add_filled(slots);
      }
    }
    return self().source_.reserve(slots);
  }

  [[nodiscard]] int add_filled(std::uint32_t slots) {
    return self().source_.reserve(
        slots, [this](slot_index first, std::uint32_t count, const auto& note) {
          self().life_.fill(self().slots_, self().shadow_, first, count, note);
        });
  }
};

struct no_growth_functions {};

template <class Pool, class... Policies>
using growth_base = std::conditional_t<(... || growing_policy<Policies>), growth_functions<Pool>,
                                       no_growth_functions>;

}  // namespace lido::detail
