/// @file
/// The kernel in tests that read like a table: an event, and the text of its effects.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernel/kernel_driver.hpp"

namespace lido::test {

/// Fails the test when an invariant does not hold.
class kernel final : public kernel_driver {
 public:
  using kernel_driver::kernel_driver;

 private:
  void problem(const std::string& what) override { ADD_FAILURE() << what; }
};

/// `expect(k.acquire('A'), "create 0")`.
#define LIDO_EXPECT(event, effects) EXPECT_EQ(::lido::test::to_text(event), effects)

}  // namespace lido::test
