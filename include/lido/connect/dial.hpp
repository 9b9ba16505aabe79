/// @file
/// Internal, except for tcp_keep_alive. Connects with a deadline and a stop token, and looks at
/// sockets. What may fail returns zero, an errno, or a code of getaddrinfo(3), which is negative.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "lido/resource/factory.hpp"
#include "lido/resource/options.hpp"

namespace lido {

/// After `idle` without a byte the kernel asks the peer, and again each `interval`. After `count`
/// questions without an answer it ends the connection. So it does when what was sent is not
/// acknowledged for as long as all of that takes. Choose an `idle` below the time after which
/// a firewall or a load balancer forgets idle connections. Rounded up to whole seconds.
struct tcp_keep_alive {
  bool on = true;
  time_limit idle = std::chrono::seconds(60);
  time_limit interval = std::chrono::seconds(10);
  int count = 3;
};

namespace detail {

/// What a failure says.
[[nodiscard]] std::string text_of(int failed);

/// Until the socket is ready for `events` of poll(2), errors included: 0, ETIMEDOUT or ECANCELED. A
/// stop is noticed within 20 ms; a signal ends no wait.
[[nodiscard]] int wait_for(int socket, short events, const create_context& limit) noexcept;

/// Whether the peer of an idle connection has sent nothing and not hung up. One system call; says
/// nothing of a peer that vanished without a word.
[[nodiscard]] bool is_quiet(int socket) noexcept;

/// Whether a socket does from now on.
bool let_block(int socket) noexcept;

/// Work for other threads, at most 32 of each kind at once.
enum class aside { look_up, cancel };

/// Runs `work`, which must not throw and must own what it uses, in another thread. False at the end
/// of `limit`: the thread goes on by itself.
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
};

/// The addresses of a name in the order of preference, but equal ones begin at another one each
/// time. An empty host is this machine.
[[nodiscard]] int look_up(const std::string& host, const std::string& port,
                          const create_context& limit, std::vector<address>& found);

/// A number that no port has, or nothing. getaddrinfo(3) would take its lower 16 bits.
[[nodiscard]] bool is_no_port(const std::string& port) noexcept;

/// As setsockopt(2) and libpq want it.
[[nodiscard]] int whole_seconds(time_limit time) noexcept;

/// Milliseconds after which a silent peer is given up, idle or not; 0: never.
[[nodiscard]] int give_up_after(const tcp_keep_alive& how) noexcept;

/// To the first address that answers. Each has its share of the time that is left. The socket
/// blocks, sends at once, is not inherited by programs, and is never descriptor 0.
[[nodiscard]] int dial(const std::vector<address>& all, const tcp_keep_alive& keep_alive,
                       const create_context& limit, int& made) noexcept;

}  // namespace detail
}  // namespace lido
