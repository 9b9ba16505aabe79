/// @file
/// Public. The content of slot maps as plain arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "lido/base/option_problem.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::inline v0 {

/// Identifies version 1 of the snapshot format. A program with the other byte order reads another
/// number, so the number also reveals the byte order of a snapshot.
inline constexpr std::uint32_t slot_map_format = 0x4C53'0001;
/// Identifies version 1 of the format of concurrent maps in the same way.
inline constexpr std::uint32_t concurrent_slot_map_format = 0x4C43'0001;

/// The values of a map that has holes, as a range of const references in memory order.
template <class Iterator>
class slot_map_values {
 public:
  slot_map_values() noexcept = default;
  /// Makes a range of `count` values.
  slot_map_values(Iterator first, Iterator last, std::size_t count) noexcept
      : first_(first), last_(last), count_(count) {}

  [[nodiscard]] Iterator begin() const noexcept { return first_; }
  [[nodiscard]] Iterator end() const noexcept { return last_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  Iterator first_;
  Iterator last_;
  std::size_t count_ = 0;
};

namespace detail {

/// The type of the values in a snapshot. If none is given, it is an array of values to restore. A T
/// that cannot be copied is moved out of that array. A class of its own, because T may be
/// incomplete where the type of a snapshot is only named.
template <class T, class Values>
struct values_in_snapshot {
  using type = Values;
};
template <class T>
struct values_in_snapshot<T, void> {
  using type = std::span<std::conditional_t<std::is_copy_constructible_v<T>, const T, T>>;
};

}  // namespace detail

/// The content of a `slot_map`, which can be copied or written to a file. `snapshot()` of a map
/// that is not const fills it with arrays of the map, without a copy. `snapshot()` of a const map
/// copies the table, and its `values` are a range that skips holes. Both are valid until the map
/// changes.
template <class T, class Values = void, class Table = std::span<const std::uint64_t>>
struct slot_map_snapshot {
  std::uint32_t format = 0;                                     ///< must be `slot_map_format`
  typename detail::values_in_snapshot<T, Values>::type values;  ///< the values in memory order
  Table table;  ///< each slot's generation and the position of its value in `values`
  std::uint32_t first_free = detail::null_slot;  ///< first free slot; 2^32 - 1 if there is none
  std::uint32_t first_generation = 1;            ///< first generation of slots that are added later
};

/// The content of a `concurrent_slot_map` at a moment at which no thread was in a call.
/// `snapshot()` copies the table, and its `values` are a range. Valid until the map changes.
template <class T, class Values = void, class Table = std::span<const std::uint64_t>>
struct concurrent_slot_map_snapshot {
  std::uint32_t format = 0;    ///< must be `concurrent_slot_map_format`
  std::uint32_t max_size = 0;  ///< must be that of the map to restore
  typename detail::values_in_snapshot<T, Values>::type values;  ///< in the order of slots
  /// For each slot, four times its generation; plus 1 if it has a value, 2 if it is reserved.
  Table table;
};

namespace detail {

/// Returns a problem unless `format` is `expected`.
[[nodiscard]] inline option_problem problem_with_format(std::uint32_t format,
                                                        std::uint32_t expected) noexcept {
  if (format == expected) {
    return {};
  }
  const std::uint32_t swapped =
      expected << 24U | (expected & 0xFF00U) << 8U | (expected >> 8U & 0xFF00U) | expected >> 24U;
  return {option_problem::kind::option,
          {format == swapped
               ? "the snapshot to restore has the byte order of another processor"
               : "the snapshot to restore does not have the format of this version of Lido"}};
}

/// Passes a value to the constructor of its restored T: copies it if T can be copied, and moves it
/// otherwise.
template <class T, class Value>
[[nodiscard]] decltype(auto) value_to_restore(Value& value) noexcept {
  if constexpr (std::is_copy_constructible_v<T>) {
    return static_cast<const T&>(value);
  } else {
    static_assert(!std::is_const_v<Value>,
                  "lido: restore moves values that cannot be copied, so they must not be const");
    return static_cast<T&&>(value);
  }
}

}  // namespace detail
}  // namespace lido::inline v0
