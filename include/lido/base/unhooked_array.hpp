/// @file
/// Internal. An array whose allocation runs no code of users.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <type_traits>

namespace lido::detail {

template <class T>
struct destroy_unhooked {
  std::size_t size = 0;

  void operator()(T* items) const noexcept {
    std::destroy_n(items, size);
    std::free(items);  // NOLINT(cppcoreguidelines-no-malloc): as below
  }
};

/// Allocated by std::malloc: a new handler or an `operator new` of the user may use the pool that
/// asks.
template <class T>
using unhooked_array = std::unique_ptr<T[], destroy_unhooked<T>>;

/// `size` value-initialised items; null if there is no memory.
template <class T>
[[nodiscard]] unhooked_array<T> make_unhooked(std::size_t size) noexcept {
  static_assert(alignof(T) <= alignof(std::max_align_t));
  static_assert(std::is_nothrow_default_constructible_v<T>);
  if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
    return {};
  }
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): that is the point
  auto* const items = static_cast<T*>(std::malloc(size * sizeof(T)));
  if (items == nullptr) {
    return {};
  }
  std::uninitialized_value_construct_n(items, size);
  return unhooked_array<T>(items, destroy_unhooked<T>{size});
}

}  // namespace lido::detail
