/// @file
/// Makes connects reach themselves. Of many thousands to a port without a server one does, when the
/// kernel happens to choose that port for this end.
#pragma once

namespace lido::test {

/// During its lifetime, each IPv4 connect of this process leads to itself.
class own_peer {
 public:
  own_peer() noexcept;
  own_peer(const own_peer&) = delete;
  own_peer& operator=(const own_peer&) = delete;
  ~own_peer();

  /// Returns the number of connects that have reached themselves.
  [[nodiscard]] static int met() noexcept;
};

}  // namespace lido::test
