/// @file
/// `burst`: 256 objects acquired, then all 256 released.
#pragma once

#include "step.hpp"

namespace lido_bench {

struct burst {
  static constexpr std::string_view name{"burst"};
  static constexpr std::size_t length{256};
  static constexpr unsigned operations{2 * length};
  static constexpr std::uint64_t warm_up{16};

  template <typename Pool>
  static void run(Pool& pool, lane& self) {
    typename Pool::session session{pool};
    std::array<void*, length> held;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
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
