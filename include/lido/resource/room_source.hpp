/// @file
/// Internal. Pools that share their room.
#pragma once

#include <cstdint>

namespace lido::detail {

/// Where a pool gets room from that shares it with others.
class room_source {
 public:
  room_source() = default;
  room_source(const room_source&) = delete;
  room_source& operator=(const room_source&) = delete;
  virtual ~room_source() = default;
  /// By who waits, without locks: the next create is due, and there is no room for it.
  virtual void look_again() noexcept = 0;
};

/// What a pool does with its room.
struct room_use {
  std::uint32_t live = 0;
  bool backs_off = false;
  bool failed_of_late = false;  ///< it backs off, or did not so long ago as that took
};

}  // namespace lido::detail
