/// @file
/// Internal. What connections ask of the system, and how it names failures.
#pragma once

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "lido/connect/dial.hpp"

namespace lido::detail::sockets {

inline constexpr int cancelled = ECANCELED;
inline constexpr int timed_out = ETIMEDOUT;
inline constexpr int refused = ECONNREFUSED;
inline constexpr int no_such_name = EAI_NONAME;
inline constexpr int no_memory_for_name = EAI_MEMORY;

[[nodiscard]] inline int last_error() noexcept {
  return errno;
}

/// That this machine has no way to an address tells nothing of the server.
[[nodiscard]] inline bool tells_of_server(int failed) noexcept {
  return failed != EADDRNOTAVAIL && failed != ENETUNREACH && failed != EAFNOSUPPORT;
}

/// What a begun connect says that goes on.
[[nodiscard]] inline bool goes_on(int failed) noexcept {
  return failed == EINPROGRESS || failed == EINTR;
}

/// The queue of a server by path is full.
[[nodiscard]] inline bool is_full(int failed) noexcept {
  return failed == EAGAIN;
}

/// What getaddrinfo(3) says, as a code that no error number is.
[[nodiscard]] inline int name_error(int code) noexcept {
  return code;
}
[[nodiscard]] inline std::string text_of_name_error(int failed) {
  return ::gai_strerror(failed);
}

inline void close(socket_handle socket) noexcept {
  (void)::close(socket);
}

/// One that does not block, and that started programs do not inherit.
[[nodiscard]] inline socket_handle open(int family) noexcept {
  socket_handle made = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made == 0) {  // of a program without standard input: hiredis 0.14 does not close that
    made = ::fcntl(0, F_DUPFD_CLOEXEC, 1);  // NOLINT(*-vararg): the interface of the system
    (void)::close(0);
  }
  return made;
}

[[nodiscard]] inline bool let_block(socket_handle socket) noexcept {
  const int flags = ::fcntl(socket, F_GETFL);  // NOLINT(*-vararg): the interface of the system
  // NOLINTNEXTLINE(*-vararg): as above
  return flags >= 0 && ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/// How many sockets are ready; milliseconds.
inline int poll(pollfd* all, std::size_t count, int time) noexcept {
  return ::poll(all, count, time);
}

/// Whether a connect has failed of which `poll` says nothing.
[[nodiscard]] inline bool has_failed(socket_handle /*socket*/) noexcept {
  return false;
}

/// Whether there is neither a byte nor an end to read, without a wait.
[[nodiscard]] inline bool has_nothing_to_read(socket_handle socket) noexcept {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

[[nodiscard]] inline bool wait_for_ever(socket_handle socket) noexcept {
  constexpr timeval for_ever{};
  const auto wait = [socket, &for_ever](int option) {
    return ::setsockopt(socket, SOL_SOCKET, option, &for_ever, sizeof for_ever) == 0;
  };
  return wait(SO_RCVTIMEO) && wait(SO_SNDTIMEO);
}

inline void look_after(socket_handle socket, const tcp_keep_alive& how) noexcept {
  const auto set = [socket](int level, int name, int value) {
    (void)::setsockopt(socket, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, how.on ? 1 : 0);
  set(IPPROTO_TCP, TCP_KEEPIDLE, whole_seconds(how.idle));
  set(IPPROTO_TCP, TCP_KEEPINTVL, whole_seconds(how.interval));
  set(IPPROTO_TCP, TCP_KEEPCNT, keep_alive_count(how));
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, give_up_after(how));
}

}  // namespace lido::detail::sockets
