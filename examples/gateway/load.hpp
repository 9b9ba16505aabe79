/// @file
/// Clients of the gateway.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gateway {

struct load_result {
  double per_second = 0;
  std::chrono::microseconds median{0};
  std::chrono::microseconds p99{0};
  std::uint64_t served = 0;  ///< answers in time
  std::uint64_t wrong = 0;   ///< unexpected answers
  std::uint64_t lost = 0;    ///< clients without an answer
  std::string wrong_answer;  ///< the last wrong one, if any
  std::uint64_t waits = 0;   ///< requests that had to wait for a connection, if known
};

/// Runs that many clients, each of which sends its next request as soon as it has an answer; the
/// first `warm_up` does not count. Throws boost::system::system_error.
[[nodiscard]] load_result put_load_on(int port, unsigned clients, std::chrono::nanoseconds warm_up,
                                      std::chrono::nanoseconds time);

}  // namespace gateway
