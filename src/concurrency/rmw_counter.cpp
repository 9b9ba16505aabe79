#include "lido/concurrency/rmw_counter.hpp"

#if defined(LIDO_COUNT_RMW) && LIDO_COUNT_RMW

#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one counter
atomic<std::uint64_t> total{0};

}  // namespace

void count_shared_rmw() noexcept {
  // relaxed: a counter that nobody orders by
  total.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t shared_rmw_count() noexcept {
  // relaxed: a counter that nobody orders by
  return total.load(std::memory_order_relaxed);
}

}  // namespace lido::detail

#endif
