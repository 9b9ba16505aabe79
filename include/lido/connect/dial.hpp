/// @file
/// Internal, except for tcp_keep_alive. Connects with a deadline and a stop token, and inspects
/// sockets. Functions that may fail return zero on success. Otherwise they return an error number
/// of the system, or a code of getaddrinfo(3), which is negative.
#pragma once

#include "lido/platform/compiler.hpp"
#if LIDO_WINDOWS
// These headers include windows.h, which defines min and max as macros unless NOMINMAX is defined.
#ifndef NOMINMAX
#define NOMINMAX
#define LIDO_DEFINED_NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#define LIDO_DEFINED_LEAN_AND_MEAN
#endif
#include <winsock2.h>
// This header must follow winsock2.h.
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

/// TCP keep-alive. After `idle` without any data, the kernel probes the peer, and repeats the probe
/// every `interval`. After `count` unanswered probes, it closes the connection. It also closes a
/// connection whose data stays unacknowledged, or whose peer does not read, for `idle` + `count` *
/// `interval`. Raise `idle` if a peer may be that slow. Choose an `idle` below the time after which
/// a firewall or a load balancer forgets idle connections. Times are rounded up to whole seconds.
struct tcp_keep_alive {
  /// True if the kernel probes idle connections.
  bool on = true;
  /// Time without data before the first probe.
  time_limit idle = std::chrono::seconds(60);
  /// Time between two probes.
  time_limit interval = std::chrono::seconds(10);
  /// Number of probes without an answer after which the connection is closed.
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

/// Returns the message of the failure `failed`.
[[nodiscard]] std::string text_of(int failed);

/// Waits until the socket is ready for `events` of poll(2), or has an error. Returns zero, or an
/// error number if the wait timed out or was cancelled. Notices a requested stop within 20 ms. A
/// signal does not end the wait.
[[nodiscard]] int wait_for(socket_handle socket, short events,
                           const create_context& limit) noexcept;

/// Returns true if the peer of an idle connection has neither sent anything nor hung up. Costs one
/// system call. Does not detect a peer that vanished silently.
[[nodiscard]] bool is_quiet(socket_handle socket) noexcept;

/// Makes a socket blocking. Returns false if that fails.
bool let_block(socket_handle socket) noexcept;

/// Removes the time limits that SO_RCVTIMEO and SO_SNDTIMEO have set. Returns false if that fails.
[[nodiscard]] bool let_wait_for_ever(socket_handle socket) noexcept;

/// Returns true for an IPv4 socket; any other TCP socket is IPv6.
[[nodiscard]] bool is_of_ipv4(socket_handle socket) noexcept;

void close_socket(socket_handle socket) noexcept;

/// Shuts both directions down. A thread that waits for the peer sees this as if the peer had hung
/// up. Does nothing if `socket` is no_socket.
void shut_down(socket_handle socket) noexcept;

/// Kinds of work that `run_aside` gives to other threads. At most 32 pieces of work of each kind
/// run at once.
enum class aside { look_up, cancel };

/// Runs `work` in another thread and waits for it. `work` must not throw, and must own everything
/// that it uses. Returns false if `limit` ends the wait first; the thread then continues on its
/// own.
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

/// Remembers which addresses failed, or lost a race to another address, in the last five minutes. A
/// connect tries these addresses last, so that a silent address does not delay every connect.
/// Thread-safe.
class address_memory {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes keeps_for{5};

  /// Records whether a connect to `where` failed.
  void note(std::string_view where, bool failed, time_point now = std::chrono::steady_clock::now());
  [[nodiscard]] bool avoids(std::string_view where,
                            time_point now = std::chrono::steady_clock::now());

  /// Moves the elements that are to be avoided to the end of `all`. `name_of(one)` returns the name
  /// that was passed to `note`.
  template <class T, class NameOf>
  void put_avoided_last(std::vector<T>& all, NameOf name_of) {
    std::stable_partition(all.begin(), all.end(),
                          [&](const T& one) { return !avoids(name_of(one)); });
  }

 private:
  std::mutex mutex_;
  std::map<std::string, time_point, std::less<>> failed_;  // when each failed
};

/// Finds the addresses of `host`, in the order of RFC 8305: the families alternate, beginning with
/// the family that the system prefers. Among addresses of equal rank, each call begins with a
/// different one. An empty `host` means this machine.
[[nodiscard]] int look_up(const std::string& host, const std::string& port,
                          const create_context& limit, std::vector<address>& found);

/// Returns true for a number that no port can have, and for an empty string. getaddrinfo(3) would
/// use the lower 16 bits of such a number.
[[nodiscard]] bool is_no_port(const std::string& port) noexcept;

/// Returns `time` in whole seconds, as setsockopt(2) and libpq expect it.
[[nodiscard]] int whole_seconds(time_limit time) noexcept;
[[nodiscard]] int keep_alive_count(const tcp_keep_alive& how) noexcept;

/// Returns the number of milliseconds after which the system closes a connection whose peer does
/// not accept data. 0 means never.
[[nodiscard]] int give_up_after(const tcp_keep_alive& how) noexcept;

/// Connects to the first address that answers. Tries the next address when one has failed or 250 ms
/// have passed. The delay is shorter if the time until the deadline would not suffice for all
/// addresses. The socket is blocking, and sends small messages at once. Programs that this process
/// starts do not inherit the socket. Its descriptor is never 0.
[[nodiscard]] int dial(std::vector<address> all, const tcp_keep_alive& keep_alive,
                       address_memory& memory, const create_context& limit, socket_handle& made);

}  // namespace detail
}  // namespace lido::inline v0
