/// @file
/// Internal. What connections need from the system, and how the system names failures. By the time
/// these functions are called, Asio has initialised the system's sockets.
#pragma once

#include "lido/connect/dial.hpp"
// must follow dial.hpp
#include <mstcpip.h>

#include <string>
#include <system_error>

namespace lido::inline v0::detail::sockets {

inline constexpr int cancelled = ERROR_OPERATION_ABORTED;
inline constexpr int timed_out = WSAETIMEDOUT;
inline constexpr int refused = WSAECONNREFUSED;
inline constexpr int no_such_name = -WSAHOST_NOT_FOUND;
inline constexpr int no_memory_for_name = -WSA_NOT_ENOUGH_MEMORY;

[[nodiscard]] inline int last_error() noexcept {
  return ::WSAGetLastError();
}

/// Returns false if a connect failed because this machine has no route to the address. Such a
/// failure says nothing about the server.
[[nodiscard]] inline bool tells_of_server(int failed) noexcept {
  return failed != WSAEADDRNOTAVAIL && failed != WSAENETUNREACH && failed != WSAEAFNOSUPPORT;
}

/// Returns true if a connect has begun and is still in progress.
[[nodiscard]] inline bool goes_on(int failed) noexcept {
  return failed == WSAEWOULDBLOCK;
}

/// Returns false, since servers that are addressed by a path are not supported on Windows.
[[nodiscard]] inline bool is_full(int /*failed*/) noexcept {
  return false;
}

/// Returns the failure that getaddrinfo reports, as a code that differs from all error numbers.
[[nodiscard]] inline int name_error(int code) noexcept {
  return -code;
}
[[nodiscard]] inline std::string text_of_name_error(int failed) {
  return std::system_category().message(-failed);
}

inline void close(socket_handle socket) noexcept {
  (void)::closesocket(socket);
}

inline void shut_down(socket_handle socket) noexcept {
  (void)::shutdown(socket, SD_BOTH);
}

[[nodiscard]] inline bool set_blocking(socket_handle socket, bool blocks) noexcept {
  u_long is_non_blocking = blocks ? 0 : 1;
  return ::ioctlsocket(socket, static_cast<long>(FIONBIO), &is_non_blocking) == 0;
}

/// Opens a non-blocking socket that programs started by this program do not inherit. Its operations
/// may continue after the call, like those of Asio's sockets.
[[nodiscard]] inline socket_handle open(int family) noexcept {
  constexpr DWORD no_handle_inherit = 0x80;
  const socket_handle made =
      ::WSASocketW(family, SOCK_STREAM, 0, nullptr, 0, WSA_FLAG_OVERLAPPED | no_handle_inherit);
  if (made != no_socket && !set_blocking(made, false)) {
    (void)::closesocket(made);
    return no_socket;
  }
  return made;
}

[[nodiscard]] inline bool let_block(socket_handle socket) noexcept {
  return set_blocking(socket, true);
}

/// Waits until sockets are ready, but at most `time` milliseconds. Returns how many are ready.
inline int poll(pollfd* all, std::size_t count, int time) noexcept {
  return ::WSAPoll(all, static_cast<ULONG>(count), time);
}

/// True if `poll` does not always report a failed connect. Before Windows 10, version 2004, it
/// never does.
inline constexpr bool poll_misses_failures = true;

[[nodiscard]] inline bool wait_for_ever(socket_handle socket) noexcept {
  const auto wait = [socket](int option) {
    constexpr DWORD for_ever = 0;
    const void* const bytes = &for_ever;
    return ::setsockopt(socket, SOL_SOCKET, option, static_cast<const char*>(bytes),
                        sizeof for_ever) == 0;
  };
  return wait(SO_RCVTIMEO) && wait(SO_SNDTIMEO);
}

/// Sets options by number, since older headers lack their names. Older versions of Windows lack
/// some of the options.
inline void look_after(socket_handle socket, const tcp_keep_alive& how) noexcept {
  const auto set = [socket](int level, int name, int value) {
    const void* const bytes = &value;
    (void)::setsockopt(socket, level, name, static_cast<const char*>(bytes), sizeof value);
  };
  constexpr int keep_alive_questions = 16;  // TCP_KEEPCNT
  constexpr int most_retransmit_time = 5;   // TCP_MAXRT
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, keep_alive_questions, keep_alive_count(how));
  if (how.on) {
    set(IPPROTO_TCP, most_retransmit_time, give_up_after(how) / 1000);
  }
  tcp_keepalive times{how.on ? 1UL : 0UL, static_cast<ULONG>(whole_seconds(how.idle)) * 1000,
                      static_cast<ULONG>(whole_seconds(how.interval)) * 1000};
  DWORD written = 0;
  (void)::WSAIoctl(socket, SIO_KEEPALIVE_VALS, &times, sizeof times, nullptr, 0, &written, nullptr,
                   nullptr);
}

}  // namespace lido::inline v0::detail::sockets
