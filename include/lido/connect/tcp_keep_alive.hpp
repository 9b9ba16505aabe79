/// @file
/// Public. How the kernel looks after a connection that carries nothing.
#pragma once

#include <chrono>

#include "lido/resource/time_limit.hpp"

namespace lido {

/// After `idle` without a byte the kernel asks the peer, and again each `interval`. After `count`
/// questions without an answer it ends the connection. Choose an `idle` below the time after which
/// a firewall or a load balancer forgets idle connections. Rounded up to whole seconds.
struct tcp_keep_alive {
  bool on = true;
  time_limit idle = std::chrono::seconds(60);
  time_limit interval = std::chrono::seconds(10);
  int count = 3;
};

}  // namespace lido
