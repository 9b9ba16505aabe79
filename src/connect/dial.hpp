/// @file
/// Internal. Connects to a stream server by name or by path, with a deadline, as blocking clients
/// want it. Errors begin with `who`.
#pragma once

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "lido/connect/quiet_socket.hpp"

namespace lido::detail {

class socket_owner {
 public:
  explicit socket_owner(int handle) noexcept : handle_(handle) {}
  socket_owner(const socket_owner&) = delete;
  socket_owner& operator=(const socket_owner&) = delete;
  socket_owner(socket_owner&& other) noexcept : handle_(other.release()) {}
  socket_owner& operator=(socket_owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~socket_owner() {
    if (handle_ >= 0) {
      ::close(handle_);
    }
  }

  [[nodiscard]] int get() const noexcept { return handle_; }
  int release() noexcept { return std::exchange(handle_, -1); }

 private:
  int handle_;
};

/// Whether it does, or does not from now on.
inline bool set_blocking(int socket, bool on) noexcept {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): the interface of the system
  const int flags = ::fcntl(socket, F_GETFL);
  return flags >= 0 && ::fcntl(socket, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) == 0;
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
}

/// Never descriptor 0, which it would have in a program without standard input, and which hiredis
/// 0.14 does not close.
inline int open_beyond_zero(int family) noexcept {
  const int opened = open_stream(family);
  if (opened != 0) {
    return opened;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the interface of the system
  const int moved = ::fcntl(opened, F_DUPFD_CLOEXEC, 1);
  ::close(opened);
  return moved;
}

/// Zero, or why not. ETIMEDOUT and ECANCELED are those of `limit`. A signal ends no wait.
inline int finish_connect(int socket, const create_context& limit) noexcept {
  switch (wait_for(socket, POLLOUT, limit)) {
    case wait_result::late:
      return ETIMEDOUT;
    case wait_result::stopped:
      return ECANCELED;
    case wait_result::ready:
      break;
  }
  int failed = 0;
  socklen_t size = sizeof failed;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 ? failed : errno;
}

/// The same of one address.
inline int connect_to(const sockaddr* address, socklen_t size, const create_context& limit,
                      socket_owner& made) noexcept {
  socket_owner attempt(open_beyond_zero(address->sa_family));
  if (attempt.get() < 0 || !set_blocking(attempt.get(), /*on=*/false)) {
    return errno;
  }
  int failed = ::connect(attempt.get(), address, size) == 0 ? 0 : errno;
  if (failed == EINPROGRESS || failed == EINTR) {
    failed = finish_connect(attempt.get(), limit);
  }
  if (failed == 0 && is_own_peer(attempt.get())) {
    failed = ECONNREFUSED;  // the echo of a question would pass for an answer
  }
  if (failed == 0 && !set_blocking(attempt.get(), /*on=*/true)) {
    failed = errno;
  }
  if (failed == 0) {
    made = std::move(attempt);
  }
  return failed;
}

using addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// By getaddrinfo(3), which has no regard to deadlines.
inline addresses look_up(const std::string& who, const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failed != 0) {
    throw std::runtime_error(who + ": " + ::gai_strerror(failed));
  }
  return {found, &::freeaddrinfo};
}

/// This machine has no way to addresses of that kind, which tells nothing of the server.
inline bool is_unknown_here(int failed) noexcept {
  return failed == EADDRNOTAVAIL || failed == ENETUNREACH || failed == EAFNOSUPPORT;
}

/// As long as the server's queue is full, which only Unix sockets tell at once.
inline int connect_to_path(const sockaddr_un& address, const create_context& limit,
                           socket_owner& made) noexcept {
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of the system
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  int failed = connect_to(any, sizeof address, limit, made);
  while (failed == EAGAIN) {
    if (limit.stop.stop_requested()) {
      return ECANCELED;
    }
    if (std::chrono::steady_clock::now() >= limit.deadline) {
      return ETIMEDOUT;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    failed = connect_to(any, sizeof address, limit, made);
  }
  return failed;
}

[[noreturn]] inline void throw_not_connected(const std::string& who, int failed) {
  throw std::system_error(failed, std::system_category(), who);
}

/// To the first address that answers. Each has its share of the time that is left, so that one that
/// is silent leaves some to the others.
inline socket_owner dial(const std::string& who, const std::string& host, int port,
                         const create_context& context) {
  if (port < 1 || port > 65535) {  // getaddrinfo would take the lower 16 bits
    throw permanent_failure(who + ": there is no such port");
  }
  const addresses all = look_up(who, host, port);
  std::ptrdiff_t left = 0;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    ++left;
  }
  socket_owner made(-1);
  int failed = ETIMEDOUT;
  for (const addrinfo* one = all.get(); one != nullptr && failed != 0 && failed != ECANCELED;
       one = one->ai_next) {
    const auto now = std::chrono::steady_clock::now();
    const create_context share{now + (context.deadline - now) / left--, context.stop};
    const int latest = connect_to(one->ai_addr, one->ai_addrlen, share, made);
    failed = is_unknown_here(latest) && one != all.get() ? failed : latest;
  }
  if (failed != 0) {
    throw_not_connected(who, failed);
  }
  constexpr int at_once = 1;
  (void)::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  return made;
}

/// To a Unix socket.
inline socket_owner dial(const std::string& who, const std::string& path,
                         const create_context& context) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw permanent_failure(who + ": " + std::system_category().message(ENAMETOOLONG));
  }
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  socket_owner made(-1);
  if (const int failed = connect_to_path(address, context, made)) {
    throw_not_connected(who, failed);
  }
  return made;
}

}  // namespace lido::detail
