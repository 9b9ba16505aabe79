/// @file
/// The kinds of pools, and the objects of the special ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fuzz/check.hpp"
#include "fuzz/payload.hpp"
#include "lido/base/tuning.hpp"
#include "lido/checked.hpp"
#include "support/preset_pool.hpp"

namespace fuzz {

/// A quarter of a segment, so that a pool that grows has many.
class large_payload : public payload {
 public:
  using payload::payload;

 private:
  [[maybe_unused]] std::array<std::byte, lido::detail::tuning::segment_bytes / 4 - sizeof(payload)>
      rest_;
};

/// Hooks of a pool that keeps its objects: an activation may throw where elsewhere a constructor
/// does, and some objects are refused when they are released.
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

template <class T>
struct tracking_traits : lido::pool_traits<T> {
  static constexpr bool track_in_use = true;
};
template <class T>
struct kept_traits : lido::pool_traits<T> {
  using hooks = payload_hooks<T>;
};
template <class T>
struct checked_kept_traits : lido::checked_traits<T> {
  using hooks = payload_hooks<T>;
};

/// A pool of T with these traits, and what follows from them. `Presets`: as in preset_pool.
template <class T, class Traits, class... Presets>
struct pool_kind {
  template <class Preset>
  static constexpr bool has = (... || std::is_same_v<Presets, Preset>);

  using pool = lido::test::preset_pool<T, Traits, Presets...>;
  using object = T;
  using lease = lido::lease<T, Traits>;
  static constexpr bool checks = Traits::checked;
  static constexpr bool walks = Traits::track_in_use || checks;
  static constexpr bool waits = has<lido::test::waits>;
  static constexpr bool keeps = std::is_same_v<typename Traits::hooks, payload_hooks<T>>;
  static constexpr bool grows = has<lido::test::grows>;
};

}  // namespace fuzz
