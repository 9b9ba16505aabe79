/// @file
/// What clients see while servers come and go.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outage {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Returns milliseconds with one decimal.
[[nodiscard]] inline double ms(clock::duration time) {
  return std::round(std::chrono::duration<double, std::milli>(time).count() * 10) / 10;
}

/// Observations between two moments.
struct seen {
  std::uint64_t served = 0;
  std::uint64_t errors = 0;
  std::int64_t lost = 0;  ///< writes that were confirmed, and are gone
  clock::time_point first_error;
  clock::time_point last_error;
  clock::duration longest{};  ///< the longest call
  std::string text;           ///< text of the last error

  /// Returns the time from the first error to the last one.
  [[nodiscard]] clock::duration errors_lasted() const { return last_error - first_error; }
};

/// Collects the observations of all clients.
class record {
 public:
  void note_served(clock::duration took) {
    const std::lock_guard lock(mutex_);
    ++now_.served;
    now_.longest = std::max(now_.longest, took);
  }
  void note_error(clock::duration took, std::string text) {
    const std::lock_guard lock(mutex_);
    const auto now = clock::now();
    now_.first_error = now_.errors == 0 ? now : now_.first_error;
    now_.last_error = now;
    ++now_.errors;
    now_.longest = std::max(now_.longest, took);
    now_.text = std::move(text);
  }
  /// Notes that this many more writes are known to be lost, or fewer if negative.
  void note_lost(std::int64_t more) {
    const std::lock_guard lock(mutex_);
    now_.lost += more;
  }
  [[nodiscard]] seen so_far() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  /// Returns the observations so far, and starts again without any.
  seen take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(now_, {});
  }

 private:
  mutable std::mutex mutex_;
  seen now_;
};

/// Clients that count, each on its own keys: a missing number shows a lost write.
class counting_clients {
 public:
  /// Adds one to the key, and returns the sum. Throws std::exception.
  using increment = std::function<std::uint64_t(const std::string& key)>;

  counting_clients(unsigned count, record& all, const increment& add) {
    for (unsigned client = 0; client < count; ++client) {
      threads_.emplace_back([this, client, &all, add] { work(client, all, add); });
    }
  }
  counting_clients(const counting_clients&) = delete;
  counting_clients& operator=(const counting_clients&) = delete;
  ~counting_clients() { over_ = true; }

  [[nodiscard]] static std::string key(unsigned client, unsigned number) {
    return "client:" + std::to_string(client) + ':' + std::to_string(number);
  }
  static constexpr unsigned keys_of_each = 16;

 private:
  void work(unsigned client, record& all, const increment& add) {
    struct counted {
      std::int64_t confirmed = 0;
      std::int64_t lost = 0;
    };
    std::vector<counted> keys(keys_of_each);
    for (unsigned i = 0; !over_; i = (i + 1) % keys_of_each) {
      const auto begin = clock::now();
      try {
        const auto sum = static_cast<std::int64_t>(add(key(client, i)));
        all.note_served(clock::now() - begin);
        // A failed increment may have been applied: then the sum is higher.
        const std::int64_t lost = std::max(std::int64_t{0}, ++keys[i].confirmed - sum);
        all.note_lost(lost - std::exchange(keys[i].lost, lost));
      } catch (const std::exception& problem) {
        all.note_error(clock::now() - begin, problem.what());
      }
      std::this_thread::sleep_for(500us);
    }
  }

  std::atomic<bool> over_ = false;
  std::vector<std::jthread> threads_;
};

/// Returns how many sockets of this process lead to a port.
[[nodiscard]] inline unsigned connections_to(int port) {
  unsigned count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    // NOLINTNEXTLINE(*-reinterpret-cast): the interface of sockets
    auto* const any = reinterpret_cast<sockaddr*>(&peer);
    const int file = std::stoi(entry.path().filename());
    count += ::getpeername(file, any, &size) == 0 && peer.sin_family == AF_INET &&
                     ntohs(peer.sin_port) == port
                 ? 1
                 : 0;
  }
  return count;
}

/// Returns the time until `is_so()`, or `patience`.
template <class Condition>
[[nodiscard]] clock::duration time_until(clock::duration patience, const Condition& is_so) {
  const auto begin = clock::now();
  while (!is_so() && clock::now() - begin < patience) {
    std::this_thread::sleep_for(5ms);
  }
  return clock::now() - begin;
}

}  // namespace outage
