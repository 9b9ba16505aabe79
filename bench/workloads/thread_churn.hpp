/// @file
/// `thread_churn`: threads start, acquire and release a few hundred objects, and end.
#pragma once

#include <thread>

#include "step.hpp"

namespace lido_bench {

struct thread_churn {
  static constexpr std::string_view name{"thread_churn"};
  static constexpr std::size_t length{32};
  static constexpr std::size_t rounds{8};
  static constexpr unsigned operations{2 * length * rounds};
  static constexpr std::uint64_t warm_up{1};

  template <typename Pool>
  static void run(Pool& pool, lane& self) {
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        one_life(pool, self);
      }
    }
    self.stop();
  }

 private:
  template <typename Pool>
  static void one_life(Pool& pool, lane& self) {
    bool starved{false};
    std::thread{[&] { starved = !live(pool, self); }}.join();
    if (starved) {
      throw starvation{};
    }
  }

  template <typename Pool>
  static bool live(Pool& pool, lane& self) {
    try {
      typename Pool::session session{pool};
      std::array<void*, length> held;  // NOLINT(cppcoreguidelines-pro-type-member-init): below
      for (std::size_t round{0}; round < rounds; ++round) {
        take_all<Pool>(session, self, held);
        give_all(session, held);
      }
    } catch (const starvation&) {
      return false;
    }
    return true;
  }
};

}  // namespace lido_bench
