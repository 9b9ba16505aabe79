#include "lido/concurrency/parking.hpp"

#include <ctime>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#else
#include "lido/concurrency/backoff.hpp"
#endif

namespace lido::detail {

namespace {

std::int64_t now_in_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool deadline::passed() const noexcept {
  return !is_never() && now_in_nanoseconds() >= nanoseconds_;
}

deadline deadline::in_nanoseconds(std::int64_t wait) noexcept {
  const std::int64_t now = now_in_nanoseconds();
  return wait < never - now ? deadline(now + wait) : deadline();
}

#ifdef __linux__

bool park(const atomic<std::uint32_t>& word, std::uint32_t expected,
          const deadline& until) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  constexpr std::int64_t second = 1'000'000'000;
  timespec moment{};
  moment.tv_sec = static_cast<std::time_t>(until.nanoseconds() / second);
  moment.tv_nsec = static_cast<long>(until.nanoseconds() % second);
  // An absolute time of CLOCK_MONOTONIC, which is what libstdc++'s steady_clock reads.
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): the C library has no function for it
  const long result =
      ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                until.is_never() ? nullptr : &moment, nullptr, FUTEX_BITSET_MATCH_ANY);
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  return result == 0 || errno != ETIMEDOUT;
}

void unpark(const atomic<std::uint32_t>* word) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the C library has no function for it
  (void)::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

#else

bool park(const atomic<std::uint32_t>& /*word*/, std::uint32_t /*expected*/,
          const deadline& until) noexcept {
  nap_thread();
  return !until.passed();
}

void unpark(const atomic<std::uint32_t>* /*word*/) noexcept {}

#endif

}  // namespace lido::detail
