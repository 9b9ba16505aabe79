#include "lido/concurrency/parking.hpp"

#include "../platform/platform.hpp"

namespace lido::inline v0::detail {

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

bool park(const atomic<std::uint32_t>& word, std::uint32_t expected,
          const deadline& until) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return platform::park(&word, expected, until.nanoseconds());
}

void unpark(const atomic<std::uint32_t>* word) noexcept {
  platform::unpark(word);
}

}  // namespace lido::inline v0::detail
