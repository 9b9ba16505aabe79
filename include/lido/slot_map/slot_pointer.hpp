/// @file
/// Public. `slot_pointer<Map>`: a handle that knows its map.
#pragma once

#include <type_traits>

namespace lido {

/// Looks its value up with every use, so it stays good when values move, and is null when its value
/// is gone. Half as fast as a pointer, and twice as large. Values may have some that lead into
/// their own map. Requires: the map is at its place.
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

}  // namespace lido
