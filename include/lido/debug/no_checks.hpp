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

  constexpr void before_construction(void* /*slot*/, place /*at*/) const noexcept {}
  constexpr void after_construction(const void* /*object*/, place /*at*/) const noexcept {}
  constexpr void after_failed_construction(void* /*slot*/) const noexcept {}
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): as in the other kind of checks
  [[nodiscard]] constexpr bool admit_release(const void* /*object*/, place /*at*/) const noexcept {
    return true;
  }
  constexpr void after_destruction(void* /*slot*/) const noexcept {}
};

}  // namespace lido::detail
