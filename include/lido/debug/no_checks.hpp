/// @file
/// Internal. Checks that do nothing, at no cost, for pools that are not checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lido::inline v0::detail {

/// Has the interface of `slot_checks`; see there.
struct no_checks {
  static constexpr bool active = false;
  static constexpr std::size_t record_bytes = 0;

  struct code_address {
    static constexpr code_address here() noexcept { return {}; }
  };

  constexpr no_checks(std::string_view /*name*/, std::byte* /*first*/, std::uint32_t /*capacity*/,
                      std::byte* /*records*/) noexcept {}
  constexpr void before_construction(void* /*slot*/, code_address /*at*/) const noexcept {}
  constexpr void after_construction(const void* /*object*/, code_address /*at*/) const noexcept {}
  constexpr void close() const noexcept {}
  [[nodiscard]] static constexpr bool admits(code_address /*at*/) noexcept { return true; }
  [[nodiscard]] static constexpr bool try_end(const void* /*object*/,
                                              code_address /*at*/) noexcept {
    return true;
  }
  constexpr void after_destruction(void* /*slot*/) const noexcept {}
};

/// Selects the checks of a pool with `Traits`. The checks of checked pools are in lido/checked.hpp.
template <class Traits, class T, bool Checked = Traits::checked>
struct pool_checks;
template <class Traits, class T>
struct pool_checks<Traits, T, false> {
  using type = no_checks;
};

template <class Traits, class T>
concept has_checks = requires {
  typename pool_checks<Traits, T>::type;
};

}  // namespace lido::inline v0::detail
