/// @file
/// `near_exhaustion`: every thread acquires 64 objects one by one and releases them all, from a
/// pool of exactly threads x 64. All can be out at once, and none may be left over in a cache.
#pragma once

#include "step.hpp"

namespace lido_bench {

struct near_exhaustion {
  static constexpr std::string_view name{"near_exhaustion"};
  static constexpr std::size_t held_count{64};
  static constexpr unsigned operations{2 * held_count};
  // No warm-up: a thread that waits for the others at the start line must not have a full cache.
  static constexpr std::uint64_t warm_up{0};

  template <typename Pool>
  static void run(Pool& pool, lane& self) {
    typename Pool::session session{pool};
    std::array<void*, held_count> held;  // NOLINT(cppcoreguidelines-pro-type-member-init): below
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        take_all<Pool>(session, self, held);
        give_all(session, held);
      }
    }
    self.stop();
  }
};

}  // namespace lido_bench
