#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <limits>

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

bool register_heavy_fence() noexcept {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0U, 0) == 0;
}

bool heavy_fence() noexcept {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0U, 0) == 0;
}

bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  timespec moment{};
  moment.tv_sec = static_cast<std::time_t>(end / second);
  moment.tv_nsec = static_cast<long>(end % second);
  const bool is_never = end == std::numeric_limits<std::int64_t>::max();
  // The timeout is an absolute time of CLOCK_MONOTONIC, the clock that std::chrono::steady_clock
  // reads.
  const long result = ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                                is_never ? nullptr : &moment, nullptr, FUTEX_BITSET_MATCH_ANY);
  return result == 0 || errno != ETIMEDOUT;
}

void unpark(const void* word) noexcept {
  (void)::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// The kernel keeps a list of the sleeping threads of each process. In the child of a fork, that
// list is empty, so nothing need be reset.
bool on_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
  return pthread_atfork(before, parent, child) == 0;
}

}  // namespace lido::inline v0::detail::platform
