/// @file
/// Public. `slot_handle<T>`: identifies a value in a slot map; `slot_pointer<Map>`: a handle
/// together with its map.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "lido/base/assert.hpp"

namespace lido::inline v0 {

/// Identifies one value of a slot map permanently. Its 64 bits contain the index of a slot and a
/// generation, which distinguishes the successive values of that slot. Once the value is erased,
/// the handle is stale. No later value gets an equal handle, except through `restore` or through
/// `emplace_at` of a `slot_map`.
///
/// A handle is a plain number, which can be copied, compared, stored and sent. It does not identify
/// its map: in another map of the same type, it is either stale or identifies a value of that map.
template <class T>
class slot_handle {
 public:
  /// Makes the null handle, which identifies no value in any map.
  constexpr slot_handle() noexcept = default;

  /// Makes a handle from its two parts. Requires: `index` and `generation` come from one handle.
  constexpr slot_handle(std::uint32_t index, std::uint32_t generation) noexcept
      : bits_(std::uint64_t{generation} << 32U | index) {}

  /// Returns the handle that `bits` represents. Requires: `bits` came from `to_bits`.
  [[nodiscard]] static constexpr slot_handle from_bits(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)};
  }

  /// Returns the handle as 64 bits, which are 0 for the null handle.
  [[nodiscard]] constexpr std::uint64_t to_bits() const noexcept { return bits_; }

  /// Returns the index of the slot. Meaningful only for a handle of a `slot_map`.
  [[nodiscard]] constexpr std::uint32_t index() const noexcept {
    return static_cast<std::uint32_t>(bits_);
  }
  /// Returns the generation, which distinguishes successive values of one slot.
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(bits_ >> 32U);
  }

  /// Returns true unless the handle is null. Only the map knows whether a handle is stale.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return to_bits() != 0; }

  friend constexpr bool operator==(slot_handle, slot_handle) noexcept = default;
  friend constexpr auto operator<=>(slot_handle, slot_handle) noexcept = default;

 private:
  std::uint64_t bits_ = 0;  // one number, so that a look-up needs no conversion
};

/// Points to a value that its map may move. Each use looks the value up again, and the pointer is
/// null once the value is erased. Requires: the map is neither moved nor destroyed.
template <class Map>
class slot_pointer {
 public:
  using element_type = typename Map::value_type;
  /// Type of the handle.
  using handle_type = typename Map::handle_type;

  slot_pointer() noexcept = default;
  /// Makes a pointer to the value of `handle` in `map`.
  slot_pointer(Map& map, handle_type handle) noexcept : map_(&map), handle_(handle) {}

  /// Returns the value's address, or nullptr if the value is erased. The next change of the map may
  /// move the value.
  [[nodiscard]] element_type* get() const noexcept {
    return map_ != nullptr ? map_->find(handle_) : nullptr;
  }
  /// Returns the value. Requires: the value has not been erased.
  [[nodiscard, LIDO_ASSERTS]] element_type& operator*() const noexcept { return *operator->(); }
  /// Accesses a member of the value. Requires: the value has not been erased.
  [[nodiscard, LIDO_ASSERTS]] element_type* operator->() const noexcept {
    element_type* const value = get();
    LIDO_ASSERT(value != nullptr, "the value of a slot_pointer is gone");
    return value;
  }
  /// Returns true if the value has not been erased.
  [[nodiscard]] explicit operator bool() const noexcept { return get() != nullptr; }
  /// Returns the handle.
  [[nodiscard]] handle_type handle() const noexcept { return handle_; }

  friend bool operator==(const slot_pointer&, const slot_pointer&) noexcept = default;

 private:
  Map* map_ = nullptr;
  handle_type handle_;
};

}  // namespace lido::inline v0

template <class T>
struct std::hash<lido::slot_handle<T>> {
  [[nodiscard]] std::size_t operator()(lido::slot_handle<T> handle) const noexcept {
    return std::hash<std::uint64_t>{}(handle.to_bits());
  }
};
