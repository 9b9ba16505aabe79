/// @file
/// Internal. The ranges of pointers that are released without an array.
#pragma once

#include <concepts>
#include <iterator>
#include <span>
#include <type_traits>

namespace lido::inline v0::detail {

/// True for a range of T* that does not convert to a span.
template <class Range, class T>
concept pointer_range =
    !std::is_convertible_v<Range, std::span<T* const>> && requires(Range & range) {
  { *std::begin(range) } -> std::convertible_to<T*>;
  { std::begin(range) != std::end(range) } -> std::convertible_to<bool>;
};

}  // namespace lido::inline v0::detail
