/// @file
/// Public entry: `checked_traits<T>`, for pools that find misuse, and the handler that is told.
#pragma once

#include "lido/base/words_free.hpp"

#include <cstddef>

#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/slot_checks.hpp"
#include "lido/object_pool.hpp"

namespace lido {

/// Traits of a checked pool: `object_pool<job, checked_traits<job>>`. Every release is checked,
/// free slots are watched, and the end of the pool reports what is still in use; see
/// set_misuse_handler. The same in every build type. Of a free slot of more than `Watched` bytes
/// the first and last sixteen are watched, and a window of 32 that moves through the slot from use
/// to use.
template <class T, std::size_t Watched = detail::fill_pattern::least_whole>
struct checked_traits : pool_traits<T> {
  static constexpr bool checked = true;
  static_assert(Watched >= detail::fill_pattern::least_whole,
                "lido: at least 64 bytes of a checked object are watched");
  static constexpr std::size_t watched_bytes = Watched;
};

namespace detail {

template <class Traits, std::size_t Size>
struct pool_checks<Traits, Size, true> {
  static constexpr std::size_t watched() noexcept {
    if constexpr (requires { Traits::watched_bytes; }) {
      return Traits::watched_bytes;
    } else {
      return fill_pattern::least_whole;
    }
  }
  using type = slot_checks<Size, watched()>;
};

}  // namespace detail
}  // namespace lido

#include "lido/base/words_back.hpp"
