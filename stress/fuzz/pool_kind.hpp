/// @file
/// The kinds of pools, and the objects for those that are special.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fuzz/check.hpp"
#include "fuzz/payload.hpp"
#include "lido/base/tuning.hpp"
#include "lido/checked.hpp"
#include "lido/object_pool.hpp"

namespace fuzz {

/// A quarter of a segment, so that a pool that grows has many.
class large_payload : public payload {
 public:
  using payload::payload;

 private:
  [[maybe_unused]] std::array<std::byte, lido::detail::tuning::segment_bytes / 4 - sizeof(payload)>
      rest_;
};

/// Of a pool that keeps its objects: an activation may throw where elsewhere a constructor does,
/// and some objects are refused when they are released.
template <class T>
struct payload_hooks {
  static void activate(T& object, std::uint32_t stamp = 0) {
    T::count_down();
    check(!is_refused(object), "an object that was refused is in use again");
    object.restamp(stamp);
  }
  static bool deactivate(const T& object) noexcept { return !is_refused(object); }

 private:
  static bool is_refused(const T& object) noexcept { return object.stamp() % 8 == 7; }
};

/// A pool of T with these policies, and what follows from them.
template <class T, class... Policies>
struct pool_kind {
  template <class Policy>
  static constexpr bool has = (... || std::is_same_v<Policies, Policy>);

  using pool = lido::object_pool<T, Policies...>;
  using object = T;
  static constexpr bool checks = has<lido::policy::checked>;
  static constexpr bool walks = has<lido::policy::track_in_use> || checks;
  static constexpr bool waits = has<lido::policy::block>;
  static constexpr bool keeps = has<lido::policy::keep_constructed<payload_hooks<T>>>;
  static constexpr bool grows = has<lido::policy::grow>;
};

}  // namespace fuzz
