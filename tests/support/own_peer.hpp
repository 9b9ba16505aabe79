/// @file
/// Makes connections reach themselves. Without this class, one of many thousands of connects to a
/// port without a server does so: when the kernel happens to choose that port for the local end.
#pragma once

namespace lido::test {

/// Makes each IPv4 connect of this process reach itself during the object's lifetime.
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
