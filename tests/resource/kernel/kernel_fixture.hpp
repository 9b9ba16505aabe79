/// @file
/// The kernel in tests that read like a table: an event, and the text of its effects.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "resource/kernel/kernel_driver.hpp"

namespace lido::test {

/// Fails the test when an invariant does not hold.
class kernel final : public kernel_driver {
 public:
  using kernel_driver::kernel_driver;

 private:
  void problem(const std::string& what) override { ADD_FAILURE() << what; }
};

/// Options with which idle resources are not stale.
inline resource_pool_options fresh(resource_pool_options options) {
  options.validate_if_idle_longer_than = std::chrono::hours(1);
  return options;
}

/// Makes the first `count` resources, and leaves them idle.
inline void fill(kernel& k, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    k.acquire(static_cast<char>('a' + i));
    k.created(i);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    k.release(static_cast<char>('a' + i));
  }
  k.tick(0);
}

/// Compares effects with a text: `EXPECT_EQ(k.acquire('A'), "create 0")`.
inline bool operator==(const happenings& all, const char* text) {
  return to_text(all) == text;
}
inline void PrintTo(const happening& one,
                    std::ostream* out) {  // NOLINT(readability-identifier-naming): gtest's name
  *out << to_text({one});
}

}  // namespace lido::test
