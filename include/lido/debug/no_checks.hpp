/// @file
/// Internal. The checks of a pool that has none: nothing, at no cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/base/slot_index.hpp"

namespace lido::detail {

/// The interface that `slot_checks` also has; see there.
struct no_checks {
  static constexpr bool active = false;

  struct place {
    static constexpr place here() noexcept { return {}; }
  };

  constexpr no_checks(std::string_view /*name*/, std::byte* /*first*/,
                      std::uint32_t /*capacity*/) noexcept {}
  [[nodiscard]] static constexpr std::size_t memory() noexcept { return 0; }

  struct thread {};
  [[nodiscard]] static constexpr thread this_thread() noexcept { return {}; }
  [[nodiscard]] static constexpr thread known_thread() noexcept { return {}; }
  [[nodiscard]] static constexpr bool is_as_left(const void* /*slot*/, thread /*me*/) noexcept {
    return true;
  }
  [[nodiscard]] static constexpr thread look_into(void* /*slot*/, place /*at*/) noexcept {
    return {};
  }
  constexpr void after_construction(const void* /*object*/, place /*at*/,
                                    thread /*me*/) const noexcept {}

  struct holding {};
  [[nodiscard]] static constexpr bool is_held_here(const void* /*object*/,
                                                   holding& /*found*/) noexcept {
    return true;
  }
  [[nodiscard]] static constexpr bool end_alone(holding /*found*/, place /*at*/) noexcept {
    return true;
  }
  [[nodiscard]] static constexpr bool settle(const void* /*object*/, holding /*found*/,
                                             place /*at*/) noexcept {
    return true;
  }
  [[nodiscard]] static constexpr bool end_as_other(const void* /*object*/, place /*at*/) noexcept {
    return true;
  }
  constexpr void after_destruction(void* /*slot*/, holding /*found*/) const noexcept {}
  constexpr void after_failed_construction(void* /*slot*/) const noexcept {}
};

/// The checks of a pool with `Traits`; those of checked pools are in lido/checked.hpp.
template <class Traits, std::size_t Size, bool Checked = Traits::checked>
struct pool_checks;
template <class Traits, std::size_t Size>
struct pool_checks<Traits, Size, false> {
  using type = no_checks;
};

template <class Traits, std::size_t Size>
concept has_checks = requires {
  typename pool_checks<Traits, Size>::type;
};

}  // namespace lido::detail
