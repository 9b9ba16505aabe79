/// @file
/// `list`: each thread has a std::pmr::list of 64 values, appends one and drops the first.
#pragma once

#include <list>
#include <memory_resource>

#include "step.hpp"

namespace lido_bench {

struct list {
  static constexpr std::string_view name{"list"};
  static constexpr std::size_t length{64};
  static constexpr unsigned operations{2};
  static constexpr std::uint64_t warm_up{4096};
  /// A value that makes 64 bytes with the two links of a node.
  struct value {
    std::byte bytes[48];
  };

  template <typename Pool>
  static void run(Pool& pool, lane& self) {
    typename Pool::session session{pool};
    std::pmr::list<value> values(length, session.resource());
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        values.emplace_back();
        keep(&values.back());
        values.pop_front();
        benchmark::ClobberMemory();
      }
    }
    self.stop();
  }
};

}  // namespace lido_bench
