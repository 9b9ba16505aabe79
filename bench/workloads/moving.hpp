/// @file
/// `moving`: every thread holds between 0 and 16 objects, at random, in a pool of 8 for each
/// thread. So what one thread releases is soon needed by another. A common budget ensures that an
/// object is free for each acquire.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "step.hpp"

namespace lido_bench {

struct moving {
  static constexpr std::string_view name{"moving"};
  static constexpr std::size_t most_held{16};
  static constexpr unsigned operations{2 * most_held};
  // No warm-up, as in near_exhaustion.
  static constexpr std::uint64_t warm_up{0};

  static std::size_t capacity(unsigned threads) { return std::max(threads * 8UL, most_held); }

  /// Number of objects that no thread has claimed.
  struct alignas(64) budget {
    explicit budget(unsigned threads) : left{static_cast<std::int64_t>(capacity(threads))} {}
    std::atomic<std::int64_t> left;
  };

  template <typename Pool>
  static void run(Pool& pool, budget& objects, lane& self) {
    typename Pool::session session{pool};
    std::array<void*, most_held> held;  // NOLINT(cppcoreguidelines-pro-type-member-init): below
    std::uint64_t random{self.index() + 1};
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const std::size_t first{random >> 60U};
        hold<Pool>(session, objects, self, std::span{held}.first(first));
        hold<Pool>(session, objects, self, std::span{held}.first(most_held - first));
      }
    }
    self.stop();
  }

 private:
  template <typename Pool, typename Session>
  [[gnu::always_inline]] static void hold(Session& session, budget& objects, lane& self,
                                          std::span<void*> held) {
    const auto count = static_cast<std::int64_t>(held.size());
    // An object is released before its share of the budget is.
    while (objects.left.fetch_sub(count, std::memory_order_acquire) < count) {
      objects.left.fetch_add(count, std::memory_order_relaxed);
      self.wait_for_peer();
    }
    take_all<Pool>(session, self, held);
    give_all(session, held);
    objects.left.fetch_add(count, std::memory_order_release);
  }
};

}  // namespace lido_bench
