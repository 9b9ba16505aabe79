#include "support/own_peer.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace lido::test {

namespace {

std::atomic<bool> is_on{false};
std::atomic<int> have_met{0};

/// Binds to a port that the kernel chooses now. Returns false on errors.
bool bind_own(int socket, sockaddr_in& own) noexcept {
  own = {};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of the system
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  return ::bind(socket, address, size) == 0 && ::getsockname(socket, address, &size) == 0;
}

}  // namespace

own_peer::own_peer() noexcept {
  have_met = 0;
  is_on = true;
}

own_peer::~own_peer() {
  is_on = false;
}

int own_peer::met() noexcept {
  return have_met;
}

}  // namespace lido::test

// Replaces the C library's function for the whole program.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's are reserved
extern "C" int connect(int socket, const sockaddr* address, socklen_t size) {
  sockaddr_in own{};
  if (lido::test::is_on && address->sa_family == AF_INET && lido::test::bind_own(socket, own)) {
    ++lido::test::have_met;
    // NOLINTNEXTLINE(*-reinterpret-cast): the interface of the system
    address = reinterpret_cast<const sockaddr*>(&own);
    size = sizeof own;
  }
  return static_cast<int>(::syscall(SYS_connect, socket, address, size));
}
