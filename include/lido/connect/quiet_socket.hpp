/// @file
/// Internal. What the kernel knows of an idle connection, how a new one is begun, and waiting for
/// one with a deadline.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stop_token>

#include "lido/resource/factory.hpp"

namespace lido::detail {

/// A new stream socket, or -1 and errno. A program that this one starts does not inherit it: there
/// a connection that has ended here would go on, signed in.
[[nodiscard]] inline int open_stream(int family) noexcept {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/// Whether the peer of an idle connection has sent nothing and not hung up. Who is spoken to only
/// when asked has nothing to say in between: what can be read is a farewell, an error, or the
/// answer to a question of the user before. One system call; says nothing of a peer that vanished
/// without a word.
[[nodiscard]] inline bool is_quiet(int socket) noexcept {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/// Whether a TCP connection is to itself. The kernel chooses the port of this end from a range; if
/// it chooses that of the peer, on this machine, and nobody listens there, the connect succeeds.
[[nodiscard]] inline bool is_own_peer(int socket) noexcept {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  // NOLINTBEGIN(*-reinterpret-cast): the interface of the system
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size) == 0 &&
         here_size == there_size && std::memcmp(&here, &there, here_size) == 0;
  // NOLINTEND(*-reinterpret-cast)
}

enum class wait_result { ready, late, stopped };

/// Until the socket is ready for `events` of poll(2), errors included; no longer than `context`
/// says. A stop is noticed within 20 ms.
[[nodiscard]] inline wait_result wait_for(int socket, short events,
                                          const create_context& context) noexcept {
  using std::chrono::milliseconds;
  constexpr milliseconds slice(20);
  for (;;) {
    const auto left =
        std::chrono::ceil<milliseconds>(context.deadline - std::chrono::steady_clock::now());
    if (context.stop.stop_requested()) {
      return wait_result::stopped;
    }
    if (left <= milliseconds::zero()) {
      return wait_result::late;
    }
    pollfd asked{.fd = socket, .events = events, .revents = 0};
    if (::poll(&asked, 1, static_cast<int>(std::min(left, slice).count())) > 0) {
      return wait_result::ready;
    }
  }
}

}  // namespace lido::detail
