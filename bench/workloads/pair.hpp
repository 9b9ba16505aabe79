/// @file
/// `pair`: acquire one object, release it, again and again.
#pragma once

#include "step.hpp"

namespace lido_bench {

struct pair {
  static constexpr std::string_view name{"pair"};
  static constexpr unsigned operations{2};
  static constexpr std::uint64_t warm_up{1024};

  template <typename Pool>
  static void run(Pool& pool, lane& self) {
    typename Pool::session session{pool};
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        give(session, take<Pool>(session, self));
      }
    }
    self.stop();
  }
};

}  // namespace lido_bench
