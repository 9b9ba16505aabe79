/// @file
/// Makes connects meet themselves, as one of many thousands does that goes to a port without a
/// server, when the kernel happens to choose that port for this end.
#pragma once

namespace lido::test {

/// While one lives, whatever this process connects by IPv4 is connected to itself instead.
class own_peer {
 public:
  own_peer() noexcept;
  own_peer(const own_peer&) = delete;
  own_peer& operator=(const own_peer&) = delete;
  ~own_peer();

  /// Connects that have met themselves.
  [[nodiscard]] static int met() noexcept;
};

}  // namespace lido::test
