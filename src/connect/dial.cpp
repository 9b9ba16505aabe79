#include "lido/connect/dial.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "../platform/platform.hpp"

namespace lido::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Zero while there is time.
int is_over(const create_context& limit) noexcept {
  const bool is_late = steady_clock::now() >= limit.deadline;
  return limit.stop.stop_requested() ? ECANCELED : is_late ? ETIMEDOUT : 0;
}

int ask_system(const std::string& host, const std::string& port, int flags,
               std::vector<address>& found) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* first = nullptr;
  const auto text = [](const std::string& word) { return word.empty() ? nullptr : word.c_str(); };
  const int failed = ::getaddrinfo(text(host), text(port), &wanted, &first);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(failed == 0 ? first : nullptr,
                                                             &::freeaddrinfo);
  for (const addrinfo* one = owner.get(); one != nullptr; one = one->ai_next) {
    std::memcpy(&found.emplace_back().bytes, one->ai_addr, one->ai_addrlen);
    found.back().size = one->ai_addrlen;
  }
  return failed;
}

/// What the kernel takes.
int keep_alive_count(const tcp_keep_alive& how) noexcept {
  return std::clamp(how.count, 1, 127);
}

void look_after(int socket, const tcp_keep_alive& how) noexcept {
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

/// Whether a connection is to itself: where no program listens, a connect to a port of this machine
/// succeeds if the kernel chooses the same port for this end.
bool is_own_peer(int socket) noexcept {
  address here;
  address there;
  here.size = there.size = sizeof here.bytes;
  return ::getsockname(socket, here.any(), &here.size) == 0 &&
         ::getpeername(socket, there.any(), &there.size) == 0 && here.bytes.ss_family != AF_UNIX &&
         here.size == there.size && std::memcmp(&here.bytes, &there.bytes, here.size) == 0;
}

int finish_connect(int socket, const address& to, const create_context& limit) noexcept {
  int failed = ::connect(socket, to.any(), to.size) == 0 ? 0 : errno;
  if (failed == EINPROGRESS || failed == EINTR) {
    failed = wait_for(socket, POLLOUT, limit);
    socklen_t size = sizeof failed;
    if (failed == 0 && ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failed, &size) != 0) {
      failed = errno;
    }
  }
  if (failed == 0 && is_own_peer(socket)) {
    return ECONNREFUSED;  // the echo of a question would pass for an answer
  }
  return failed != 0 || let_block(socket) ? failed : errno;
}

int connect_to(const address& to, const create_context& limit, int& made) noexcept {
  made = ::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made == 0) {  // of a program without standard input: hiredis 0.14 does not close that
    made = ::fcntl(0, F_DUPFD_CLOEXEC, 1);  // NOLINT(*-vararg): the interface of the system
    ::close(0);
  }
  int failed = made >= 0 ? finish_connect(made, to, limit) : errno;
  while (failed == EAGAIN) {  // the queue of a server by path is full
    std::this_thread::sleep_for(milliseconds(5));
    failed = is_over(limit);
    failed = failed != 0 ? failed : finish_connect(made, to, limit);
  }
  if (failed != 0 && made >= 0) {
    ::close(std::exchange(made, -1));
  }
  return failed;
}

}  // namespace

std::string text_of(int failed) {
  return failed < 0 ? ::gai_strerror(failed) : std::system_category().message(failed);
}

int wait_for(int socket, short events, const create_context& limit) noexcept {
  constexpr milliseconds slice(20);
  for (;;) {
    if (const int over = is_over(limit)) {
      return over;
    }
    const auto left = std::chrono::ceil<milliseconds>(limit.deadline - steady_clock::now());
    pollfd asked{.fd = socket, .events = events, .revents = 0};
    if (::poll(&asked, 1, static_cast<int>(std::clamp(left, milliseconds(0), slice).count())) > 0) {
      return 0;
    }
  }
}

bool is_quiet(int socket) noexcept {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool let_block(int socket) noexcept {
  const int flags = ::fcntl(socket, F_GETFL);  // NOLINT(*-vararg): the interface of the system
  // NOLINTNEXTLINE(*-vararg): as above
  return flags >= 0 && ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

bool run_aside(aside kind, std::function<void()> work, const create_context& limit) {
  constexpr int most = 32;
  struct threads {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::array<int, 2> running{};
  };
  // NOLINTNEXTLINE(*-non-const-global-variables): behind its mutex
  static auto* const all = new threads;  // for ever, as those threads may outlive main
  int& running = all->running.at(static_cast<std::size_t>(kind));
  const auto done = std::make_shared<bool>(false);
  std::unique_lock lock(all->mutex);
  const auto wait = [&](auto until) {
    return all->changed.wait_until(lock, limit.stop, limit.deadline, until);
  };
  if (!wait([&running] { return running < most; })) {
    return false;
  }
  auto run = [&running, done, work = std::move(work)]() mutable {
    work();
    work = nullptr;
    const std::lock_guard guard(all->mutex);
    *done = true;
    --running;
    all->changed.notify_all();
  };
  platform::start_thread("lido-dial", std::move(run)).detach();
  ++running;
  return wait([&done] { return *done; });
}

std::string address::digits() const {
  std::array<char, NI_MAXHOST> text{};
  (void)::getnameinfo(any(), size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

int look_up(const std::string& host, const std::string& port, const create_context& limit,
            std::vector<address>& found) {
  if (const int failed = ask_system(host, port, AI_NUMERICHOST, found); failed != EAI_NONAME) {
    return failed;  // or not, and no other machine was asked
  }
  const auto answer = std::make_shared<std::pair<int, std::vector<address>>>(EAI_MEMORY, 0);
  const auto ask = [host, port, answer] {
    // Without memory it stays what it is.
    attempt([&] { answer->first = ask_system(host, port, 0, answer->second); }, [] {});
  };
  if (!run_aside(aside::look_up, ask, limit)) {
    return is_over(limit);
  }
  found = std::move(answer->second);
  if (!found.empty()) {  // those that the system prefers, all alike
    const auto last = std::find_if(found.begin(), found.end(), [&found](const address& one) {
      return one.bytes.ss_family != found.front().bytes.ss_family;
    });
    std::rotate(found.begin(), found.begin() + std::random_device{}() % (last - found.begin()),
                last);
  }
  return answer->first;
}

bool is_no_port(const std::string& port) noexcept {
  char* end = nullptr;
  const long number = std::strtol(port.c_str(), &end, 10);
  return *end == '\0' && (number < 1 || number > 65535);
}

int give_up_after(const tcp_keep_alive& how) noexcept {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const std::int64_t seconds =
      whole_seconds(how.idle) + std::int64_t{whole_seconds(how.interval)} * keep_alive_count(how);
  return how.on ? static_cast<int>(std::min(seconds * 1000, most)) : 0;
}

int whole_seconds(time_limit time) noexcept {
  using std::chrono::seconds;
  const auto whole = std::chrono::ceil<seconds>(std::chrono::nanoseconds(time));
  return static_cast<int>(std::clamp(whole, seconds(1), seconds(32767)).count());  // of the kernel
}

int dial(const std::vector<address>& all, const tcp_keep_alive& keep_alive,
         const create_context& limit, int& made) noexcept {
  int failed = 0;
  auto left = std::ssize(all);
  for (const address& one : all) {
    const auto now = steady_clock::now();
    const int latest = connect_to(one, {now + (limit.deadline - now) / left--, limit.stop}, made);
    // That this machine has no way to an address tells nothing of the server.
    const bool tells = latest != EADDRNOTAVAIL && latest != ENETUNREACH && latest != EAFNOSUPPORT;
    failed = tells || failed == 0 ? latest : failed;
    if (latest == 0 || latest == ECANCELED) {
      break;
    }
  }
  if (failed == 0 && all.front().bytes.ss_family != AF_UNIX) {
    look_after(made, keep_alive);
  }
  return failed;
}

}  // namespace lido::detail
