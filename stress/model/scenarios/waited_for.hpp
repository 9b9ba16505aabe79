/// @file
/// An allocator whose slots can be waited for, and scenarios of waiting threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scenarios/pooled.hpp"

namespace model {

class waited_for : public pooled {
 public:
  explicit waited_for(std::uint32_t capacity, cache_kind caches = cache_kind::revocable,
                      std::uint32_t max_cached = 8)
      : pooled(capacity, caches, max_cached, /*may_wait=*/true) {}

  void wait_and_release() { release(wait()); }
};

/// Lets others run until the condition holds.
template <class Condition>
void await(const Condition& holds) {
  while (!holds()) {
    execution::now().rest();
  }
}

[[nodiscard]] constexpr scenario waits(std::string_view name, std::string_view tells,
                                       void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, bounds{2, 1, 1}, /*waits=*/true};
}

}  // namespace model
