#include "lido/connect/dial.hpp"

#include <algorithm>
#include <array>
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
#include "lido/platform/compiler.hpp"
#if LIDO_WINDOWS
#include "sockets_windows.hpp"
#else
#include "sockets_posix.hpp"
#endif

namespace lido::inline v0::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Returns zero while a connect may continue. Otherwise returns the error number of a time-out or a
/// cancellation.
int is_over(const create_context& limit) noexcept {
  const bool is_late = steady_clock::now() >= limit.deadline;
  return limit.stop.stop_requested() ? sockets::cancelled : is_late ? sockets::timed_out : 0;
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
    found.back().size = static_cast<socklen_t>(one->ai_addrlen);
  }
  return sockets::name_error(failed);
}

/// Returns true if a socket is connected to itself. If nothing listens on a port of this machine, a
/// connect to that port succeeds when the kernel chooses the same port for the local end.
bool is_own_peer(socket_handle socket) noexcept {
  address here;
  address there;
  here.size = there.size = sizeof here.bytes;
  return ::getsockname(socket, here.any(), &here.size) == 0 &&
         ::getpeername(socket, there.any(), &there.size) == 0 && here.bytes.ss_family != AF_UNIX &&
         here.size == there.size && std::memcmp(&here.bytes, &there.bytes, here.size) == 0;
}

/// Begins to connect. Returns zero, or the error number. If the server is addressed by a path,
/// waits while its queue is full.
int begin_connect(const address& to, const create_context& limit, socket_handle& made) noexcept {
  made = sockets::open(to.bytes.ss_family);
  if (made == no_socket) {
    return sockets::last_error();
  }
  int failed = 0;
  while (failed == 0 && ::connect(made, to.any(), to.size) != 0) {
    if (const int error = sockets::last_error(); !sockets::is_full(error)) {
      return sockets::goes_on(error) ? 0 : error;
    }
    std::this_thread::sleep_for(milliseconds(5));
    failed = is_over(limit);
  }
  return failed;
}

/// Returns the error number of a failed connect, or zero. Only the first call returns the error,
/// since the system then forgets it.
int take_failure(socket_handle socket) noexcept {
  int failed = 0;
  socklen_t size = sizeof failed;
  void* const bytes = &failed;
  const int refused = ::getsockopt(socket, SOL_SOCKET, SO_ERROR, static_cast<char*>(bytes), &size);
  return refused == 0 ? failed : sockets::last_error();
}

/// Returns zero if a socket that has become ready is connected, and otherwise the error number.
/// `failed` is the result of `take_failure`.
int end_connect(socket_handle socket, int failed) noexcept {
  if (failed == 0 && is_own_peer(socket)) {
    return sockets::refused;  // the echo of a request would be mistaken for its answer
  }
  return failed != 0 || let_block(socket) ? failed : sockets::last_error();
}

/// Connects to several addresses concurrently, and closes all sockets except that of the first
/// connect to succeed.
class race {
 public:
  race(const std::vector<address>& all, address_memory& memory, const create_context& limit)
      : all_(all), memory_(memory), limit_(limit) {
    asked_.reserve(all.size());
  }
  race(const race&) = delete;
  race& operator=(const race&) = delete;
  ~race() {
    for (const pollfd& one : asked_) {
      if (one.fd != no_socket) {
        sockets::close(one.fd);
      }
    }
  }

  /// Returns zero and sets `made` to a connected socket, or returns the error number.
  int run(socket_handle& made) {
    while (made == no_socket) {
      if (const int over = is_over(limit_)) {
        note_pending(over == sockets::timed_out ? asked_.size() : 0);
        return over;
      }
      begin_what_is_due(steady_clock::now());
      if (running_ == 0) {
        return failed_;
      }
      (void)sockets::poll(asked_.data(), asked_.size(), time_to_wait());
      end_what_is_ready(made);
    }
    return 0;
  }

 private:
  void end_what_is_ready(socket_handle& made) {
    for (std::size_t i = 0; i < asked_.size() && made == no_socket; ++i) {
      const socket_handle one = asked_[i].fd;
      const bool is_ready = asked_[i].revents != 0;
      if (one == no_socket || !(is_ready || sockets::poll_misses_failures)) {
        continue;
      }
      if (const int failed = take_failure(one); is_ready || failed != 0) {
        end(i, end_connect(one, failed), made);
      }
    }
  }

  void begin_what_is_due(steady_clock::time_point now) {
    constexpr milliseconds delay(250);  // from RFC 8305
    while (asked_.size() < all_.size() && (running_ == 0 || now >= next_)) {
      const auto left = std::ssize(all_) - std::ssize(asked_);
      next_ = now + std::min<steady_clock::duration>(delay, (limit_.deadline - now) / left);
      pollfd& one = asked_.emplace_back(pollfd{.fd = no_socket, .events = POLLOUT, .revents = 0});
      ++running_;
      if (const int failed = begin_connect(all_[asked_.size() - 1], limit_, one.fd)) {
        socket_handle none = no_socket;
        end(asked_.size() - 1, failed, none);
      }
    }
  }

  /// Returns the milliseconds until the deadline, the next connect, or the next check of the stop
  /// token, whichever comes first.
  [[nodiscard]] int time_to_wait() const {
    constexpr milliseconds slice(20);
    const auto until =
        asked_.size() < all_.size() ? (std::min)(next_, limit_.deadline) : limit_.deadline;
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    return static_cast<int>(std::clamp(left, milliseconds(0), slice).count());
  }

  void end(std::size_t index, int failed, socket_handle& made) {
    --running_;
    note(index, failed != 0);
    if (failed == 0) {
      note_pending(index);
      made = std::exchange(asked_[index].fd, no_socket);
      return;
    }
    if (asked_[index].fd != no_socket) {
      sockets::close(std::exchange(asked_[index].fd, no_socket));
    }
    next_ = {};  // the next connect begins at once, while others may still be silent
    failed_ = sockets::tells_of_server(failed) || failed_ == 0 ? failed : failed_;
  }

  /// Notes whether a connect failed, unless the address is the only one.
  void note(std::size_t index, bool failed) {
    if (all_.size() > 1) {
      memory_.note(all_[index].name(), failed);
    }
  }
  /// Notes that the connects before `end` that are still running have failed: they have taken too
  /// long, or another connect has overtaken them.
  void note_pending(std::size_t end) {
    for (std::size_t i = 0; i < end; ++i) {
      if (asked_[i].fd != no_socket) {
        note(i, /*failed=*/true);
      }
    }
  }

  const std::vector<address>& all_;
  address_memory& memory_;
  const create_context& limit_;
  std::vector<pollfd> asked_;  // one for each address tried so far; `fd` is no_socket if it failed
  std::size_t running_ = 0;
  steady_clock::time_point next_;
  int failed_ = 0;
};

/// Rotates each run of addresses of the same family by a random number of positions, since the
/// system prefers these addresses equally. Then alternates the address families.
void spread(std::vector<address>& found) {
  std::random_device random;
  const auto is_of = [](const address& one) {
    return [family = one.bytes.ss_family](const address& other) {
      return other.bytes.ss_family == family;
    };
  };
  for (auto first = found.begin(); first != found.end();) {
    const auto last = std::find_if_not(first, found.end(), is_of(*first));
    std::rotate(first, first + random() % (last - first), last);
    first = last;
  }
  std::vector<address> all;
  const auto middle = std::stable_partition(found.begin(), found.end(), is_of(found.front()));
  auto other = middle;
  for (auto one = found.begin(); one != middle || other != found.end();) {
    if (one != middle) {
      all.push_back(*one++);
    }
    if (other != found.end()) {
      all.push_back(*other++);
    }
  }
  found = std::move(all);
}

}  // namespace

std::string text_of(int failed) {
  return failed < 0 ? sockets::text_of_name_error(failed) : std::system_category().message(failed);
}

int wait_for(socket_handle socket, short events, const create_context& limit) noexcept {
  constexpr milliseconds slice(20);
  for (;;) {
    if (const int over = is_over(limit)) {
      return over;
    }
    const auto left = std::chrono::ceil<milliseconds>(limit.deadline - steady_clock::now());
    pollfd asked{.fd = socket, .events = events, .revents = 0};
    if (sockets::poll(&asked, 1,
                      static_cast<int>(std::clamp(left, milliseconds(0), slice).count())) > 0) {
      return 0;
    }
  }
}

bool is_quiet(socket_handle socket) noexcept {
  pollfd asked{.fd = socket, .events = POLLIN, .revents = 0};
  return socket != no_socket && sockets::poll(&asked, 1, 0) == 0;
}

bool let_block(socket_handle socket) noexcept {
  return sockets::let_block(socket);
}

bool let_wait_for_ever(socket_handle socket) noexcept {
  return sockets::wait_for_ever(socket);
}

bool is_of_ipv4(socket_handle socket) noexcept {
  address here;
  here.size = sizeof here.bytes;
  return ::getsockname(socket, here.any(), &here.size) == 0 && here.bytes.ss_family == AF_INET;
}

void close_socket(socket_handle socket) noexcept {
  sockets::close(socket);
}

void shut_down(socket_handle socket) noexcept {
  sockets::shut_down(socket);
}

bool run_aside(aside kind, std::function<void()> work, const create_context& limit) {
  constexpr int most = 32;
  struct threads {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::array<int, 2> running{};
  };
  static auto* const all = new threads;  // never destroyed, since these threads may outlive main
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

std::string_view address::name() const noexcept {
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of the system
  return {reinterpret_cast<const char*>(&bytes), static_cast<std::size_t>(size)};
}

void address_memory::note(std::string_view where, bool failed, time_point now) {
  const std::lock_guard guard(mutex_);
  std::erase_if(failed_, [now](const auto& one) { return now - one.second >= keeps_for; });
  if (failed) {
    failed_[std::string(where)] = now;
  } else if (const auto known = failed_.find(where); known != failed_.end()) {
    failed_.erase(known);
  }
}

bool address_memory::avoids(std::string_view where, time_point now) {
  const std::lock_guard guard(mutex_);
  const auto known = failed_.find(where);
  return known != failed_.end() && now - known->second < keeps_for;
}

int look_up(const std::string& host, const std::string& port, const create_context& limit,
            std::vector<address>& found) {
  if (const int failed = ask_system(host, port, AI_NUMERICHOST, found);
      failed != sockets::no_such_name) {
    return failed;  // either zero or an error; no other machine was asked
  }
  const auto answer =
      std::make_shared<std::pair<int, std::vector<address>>>(sockets::no_memory_for_name, 0);
  const auto ask = [host, port, answer] {
    // If there is no memory, the answer stays `no_memory_for_name`.
    attempt([&] { answer->first = ask_system(host, port, 0, answer->second); }, [] {});
  };
  if (!run_aside(aside::look_up, ask, limit)) {
    return is_over(limit);
  }
  found = std::move(answer->second);
  if (!found.empty()) {
    spread(found);
  }
  return answer->first;
}

bool is_no_port(const std::string& port) noexcept {
  char* end = nullptr;
  const long number = std::strtol(port.c_str(), &end, 10);
  return *end == '\0' && (number < 1 || number > 65535);
}

int give_up_after(const tcp_keep_alive& how) noexcept {
  constexpr std::int64_t most = (std::numeric_limits<int>::max)();
  const std::int64_t seconds =
      whole_seconds(how.idle) + std::int64_t{whole_seconds(how.interval)} * keep_alive_count(how);
  return how.on ? static_cast<int>((std::min)(seconds * 1000, most)) : 0;
}

int keep_alive_count(const tcp_keep_alive& how) noexcept {
  return std::clamp(how.count, 1, 127);  // the kernel's limit
}

int whole_seconds(time_limit time) noexcept {
  using std::chrono::seconds;
  const auto whole = std::chrono::ceil<seconds>(std::chrono::nanoseconds(time));
  return static_cast<int>(
      std::clamp(whole, seconds(1), seconds(32767)).count());  // the kernel's limit
}

int dial(std::vector<address> all, const tcp_keep_alive& keep_alive, address_memory& memory,
         const create_context& limit, socket_handle& made) {
  memory.put_avoided_last(all, [](const address& one) { return one.name(); });
  made = no_socket;
  const int failed = race(all, memory, limit).run(made);
  if (failed == 0 && all.front().bytes.ss_family != AF_UNIX) {
    sockets::look_after(made, keep_alive);
  }
  return failed;
}

}  // namespace lido::inline v0::detail
