/// @file
/// The kernel in tests that read like a table: an event, and the text of its effects.
#pragma once

#include <gtest/gtest.h>

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

/// `EXPECT_EQ(k.acquire('A'), "create 0")`.
inline bool operator==(const happenings& all, const char* text) {
  return to_text(all) == text;
}
inline void PrintTo(const happening& one,
                    std::ostream* out) {  // NOLINT(readability-identifier-naming): gtest's name
  *out << to_text({one});
}

}  // namespace lido::test
