/// @file
/// Internal, except for tcp_keep_alive. Connects with a deadline and a stop token, and inspects
/// sockets. Functions that may fail return zero, an error number of the system, or a code of
/// getaddrinfo(3), which is negative.
#pragma once

#include "lido/platform/compiler.hpp"
#if LIDO_WINDOWS
// They include windows.h, which defines min and max as macros, unless told otherwise.
#ifndef NOMINMAX
#define NOMINMAX
#define LIDO_DEFINED_NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#define LIDO_DEFINED_LEAN_AND_MEAN
#endif
#include <winsock2.h>
// after it
#include <ws2tcpip.h>
#ifdef LIDO_DEFINED_NOMINMAX
#undef NOMINMAX
#undef LIDO_DEFINED_NOMINMAX
#endif
#ifdef LIDO_DEFINED_LEAN_AND_MEAN
#undef WIN32_LEAN_AND_MEAN
#undef LIDO_DEFINED_LEAN_AND_MEAN
#endif
#else
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#endif

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lido/resource/factory.hpp"
#include "lido/resource/options.hpp"

namespace lido::inline v0 {

/// Keep-alive of TCP. After `idle` without a byte the kernel probes the peer, and again every
/// `interval`. After `count` unanswered probes it closes the connection. It also closes one whose
/// data stays unacknowledged, or whose peer does not read, for `idle` + `count` * `interval`: raise
/// `idle` if a peer may be that slow. Choose an `idle` below the time after which a firewall or a
/// load balancer forgets idle connections. Rounded up to whole seconds.
struct tcp_keep_alive {
  bool on = true;
  time_limit idle = std::chrono::seconds(60);
  time_limit interval = std::chrono::seconds(10);
  int count = 3;
};

namespace detail {

#if LIDO_WINDOWS
using socket_handle = SOCKET;
inline constexpr socket_handle no_socket = INVALID_SOCKET;
#else
using socket_handle = int;
inline constexpr socket_handle no_socket = -1;
#endif

/// Returns the message of a failure.
[[nodiscard]] std::string text_of(int failed);

/// Waits until the socket is ready for `events` of poll(2), errors included. Returns zero, or that
/// it timed out or was cancelled. Notices a stop within 20 ms; a signal does not end the wait.
[[nodiscard]] int wait_for(socket_handle socket, short events,
                           const create_context& limit) noexcept;

/// Returns true if the peer of an idle connection has neither sent anything nor hung up. One system
/// call; does not detect a peer that vanished silently.
[[nodiscard]] bool is_quiet(socket_handle socket) noexcept;

/// Makes a socket blocking. Returns false if that fails.
bool let_block(socket_handle socket) noexcept;

/// Removes the limits of SO_RCVTIMEO and SO_SNDTIMEO. Returns false if that fails.
[[nodiscard]] bool let_wait_for_ever(socket_handle socket) noexcept;

/// Returns true for an IPv4 socket; any other TCP socket is IPv6.
[[nodiscard]] bool is_of_ipv4(socket_handle socket) noexcept;

void close_socket(socket_handle socket) noexcept;

/// Shuts both directions down: a thread that waits for the peer sees that it has hung up. Does
/// nothing if there is no socket.
void shut_down(socket_handle socket) noexcept;

/// Kinds of work for other threads, at most 32 of each at once.
enum class aside { look_up, cancel };

/// Runs `work`, which must not throw and must own what it uses, in another thread. Returns false at
/// the end of `limit`; the thread then continues alone.
[[nodiscard]] bool run_aside(aside kind, std::function<void()> work, const create_context& limit);

struct address {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  // NOLINTBEGIN(*-reinterpret-cast): the interface of the system
  [[nodiscard]] const sockaddr* any() const noexcept {
    return reinterpret_cast<const sockaddr*>(&bytes);
  }
  [[nodiscard]] sockaddr* any() noexcept { return reinterpret_cast<sockaddr*>(&bytes); }
  // NOLINTEND(*-reinterpret-cast)
  [[nodiscard]] std::string digits() const;
  /// Returns the key of the address in an `address_memory`.
  [[nodiscard]] std::string_view name() const noexcept;
};

/// Remembers which addresses failed, or lost to another one, in the last five minutes. Connects try
/// these last, so that a silent address does not delay each of them. Thread-safe.
class address_memory {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes keeps_for{5};

  /// Records how a connect to `where` ended.
  void note(std::string_view where, bool failed, time_point now = std::chrono::steady_clock::now());
  [[nodiscard]] bool avoids(std::string_view where,
                            time_point now = std::chrono::steady_clock::now());

  /// Moves elements to avoid to the end. `name_of(one)` is the name that `note` gets.
  template <class T, class NameOf>
  void put_avoided_last(std::vector<T>& all, NameOf name_of) {
    std::stable_partition(all.begin(), all.end(),
                          [&](const T& one) { return !avoids(name_of(one)); });
  }

 private:
  std::mutex mutex_;
  std::map<std::string, time_point, std::less<>> failed_;  // and when
};

/// Finds the addresses of a name, in the order of RFC 8305: families alternate, beginning with the
/// one that the system prefers. Addresses of equal rank start at another one each time. An empty
/// host is this machine.
[[nodiscard]] int look_up(const std::string& host, const std::string& port,
                          const create_context& limit, std::vector<address>& found);

/// Returns true for a number that no port has, and for nothing. getaddrinfo(3) would use the lower
/// 16 bits.
[[nodiscard]] bool is_no_port(const std::string& port) noexcept;

/// Returns the number that setsockopt(2) and libpq expect.
[[nodiscard]] int whole_seconds(time_limit time) noexcept;
[[nodiscard]] int keep_alive_count(const tcp_keep_alive& how) noexcept;

/// Returns the milliseconds after which data that a peer does not take ends the connection; 0:
/// never.
[[nodiscard]] int give_up_after(const tcp_keep_alive& how) noexcept;

/// Connects to the first address that answers. Starts with the next address when one has failed, or
/// after 250 ms, or sooner if the time would not suffice for all. The socket is blocking, sends at
/// once, is not inherited by programs, and is never descriptor 0.
[[nodiscard]] int dial(std::vector<address> all, const tcp_keep_alive& keep_alive,
                       address_memory& memory, const create_context& limit, socket_handle& made);

}  // namespace detail
}  // namespace lido::inline v0
