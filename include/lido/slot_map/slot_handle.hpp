/// @file
/// Public. `slot_handle<T>`: the name of a value in a slot map; `slot_pointer<Map>`: one that knows
/// its map.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace lido::inline v0 {

/// Names one value of a slot map for ever. Its 64 bits say which slot, and which of the values that
/// were there one after another: its generation. When the value is gone the handle is stale, and no
/// later value gets an equal one, except by `emplace_at` and `restore` of a `slot_map`.
///
/// A plain number, to be copied, compared, stored and sent. The map it came from is not in it: in
/// another map of the same type it is stale, or names a value of that one.
template <class T>
class slot_handle {
 public:
  /// The null handle: names nothing, in every map.
  constexpr slot_handle() noexcept = default;

  /// Requires: both are of one handle.
  constexpr slot_handle(std::uint32_t index, std::uint32_t generation) noexcept
      : bits_(std::uint64_t{generation} << 32U | index) {}

  /// Requires: `bits` came from `to_bits`.
  [[nodiscard]] static constexpr slot_handle from_bits(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)};
  }

  /// The null handle is 0.
  [[nodiscard]] constexpr std::uint64_t to_bits() const noexcept { return bits_; }

  /// As a `slot_map` sees it.
  [[nodiscard]] constexpr std::uint32_t index() const noexcept {
    return static_cast<std::uint32_t>(bits_);
  }
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(bits_ >> 32U);
  }

  /// False for the null handle only. Only the map knows whether a handle is stale.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return to_bits() != 0; }

  friend constexpr bool operator==(slot_handle, slot_handle) noexcept = default;
  friend constexpr auto operator<=>(slot_handle, slot_handle) noexcept = default;

 private:
  std::uint64_t bits_ = 0;  // one number, as a look-up wants it
};

/// Looks its value up with every use, so it stays good when values move, and is null when its value
/// is gone. Requires: the map is at its place.
template <class Map>
class slot_pointer {
 public:
  using element_type = typename Map::value_type;
  using handle_type = typename Map::handle_type;

  slot_pointer() noexcept = default;
  slot_pointer(Map& map, handle_type handle) noexcept : map_(&map), handle_(handle) {}

  /// nullptr when the value is gone. Not for keeping: the next change of the map may move it.
  [[nodiscard]] element_type* get() const noexcept {
    return map_ != nullptr ? map_->find(handle_) : nullptr;
  }
  [[nodiscard]] element_type& operator*() const noexcept { return *get(); }
  [[nodiscard]] element_type* operator->() const noexcept { return get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return get() != nullptr; }
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
