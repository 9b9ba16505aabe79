/// @file
/// Internal. What connections need from the system, and how the system names failures.
#pragma once

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "lido/connect/dial.hpp"

namespace lido::inline v0::detail::sockets {

inline constexpr int cancelled = ECANCELED;
inline constexpr int timed_out = ETIMEDOUT;
inline constexpr int refused = ECONNREFUSED;
inline constexpr int no_such_name = EAI_NONAME;
inline constexpr int no_memory_for_name = EAI_MEMORY;

[[nodiscard]] inline int last_error() noexcept {
  return errno;
}

/// Returns false if a connect failed because this machine has no route to the address. Such a
/// failure says nothing about the server.
[[nodiscard]] inline bool tells_of_server(int failed) noexcept {
  return failed != EADDRNOTAVAIL && failed != ENETUNREACH && failed != EAFNOSUPPORT;
}

/// Returns true if a connect has begun and is still in progress.
[[nodiscard]] inline bool goes_on(int failed) noexcept {
  return failed == EINPROGRESS || failed == EINTR;
}

/// Returns true if the queue of a server that is addressed by a path is full.
[[nodiscard]] inline bool is_full(int failed) noexcept {
  return failed == EAGAIN;
}

/// Returns the failure that getaddrinfo(3) reports, as a code that differs from all error numbers.
[[nodiscard]] inline int name_error(int code) noexcept {
  return code;
}
[[nodiscard]] inline std::string text_of_name_error(int failed) {
  return ::gai_strerror(failed);
}

inline void close(socket_handle socket) noexcept {
  (void)::close(socket);
}

inline void shut_down(socket_handle socket) noexcept {
  (void)::shutdown(socket, SHUT_RDWR);
}

/// Opens a non-blocking socket that programs started by this program do not inherit.
[[nodiscard]] inline socket_handle open(int family) noexcept {
#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK)
  socket_handle made = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else  // macOS: a program started between socket() and fcntl() inherits the socket
  socket_handle made = ::socket(family, SOCK_STREAM, 0);
  if (made != no_socket &&
      (::fcntl(made, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(made, F_SETFL, O_NONBLOCK) != 0)) {
    close(made);
    return no_socket;
  }
#endif
  if (made == 0) {  // the program has no standard input; hiredis 0.14 does not close socket 0
    made = ::fcntl(0, F_DUPFD_CLOEXEC, 1);
    (void)::close(0);
  }
  return made;
}

[[nodiscard]] inline bool let_block(socket_handle socket) noexcept {
  const int flags = ::fcntl(socket, F_GETFL);
  return flags >= 0 && ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/// Waits until sockets are ready, but at most `time` milliseconds. Returns how many are ready.
inline int poll(pollfd* all, std::size_t count, int time) noexcept {
  return ::poll(all, static_cast<nfds_t>(count), time);
}

/// True if `poll` does not always report a failed connect. On POSIX systems, it always does.
inline constexpr bool poll_misses_failures = false;

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
#ifdef TCP_KEEPIDLE
  set(IPPROTO_TCP, TCP_KEEPIDLE, whole_seconds(how.idle));
#else  // macOS
  set(IPPROTO_TCP, TCP_KEEPALIVE, whole_seconds(how.idle));
#endif
  set(IPPROTO_TCP, TCP_KEEPINTVL, whole_seconds(how.interval));
  set(IPPROTO_TCP, TCP_KEEPCNT, keep_alive_count(how));
#ifdef TCP_USER_TIMEOUT
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, give_up_after(how));
#endif
}

}  // namespace lido::inline v0::detail::sockets
