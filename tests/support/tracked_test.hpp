/// @file
/// Fixture of the tests that count objects.
#pragma once

#include <gtest/gtest.h>

#include "support/tracked.hpp"

namespace lido::test {

class tracked_test : public ::testing::Test {
 protected:
  void SetUp() override { tracked::counts() = {}; }
  void TearDown() override { EXPECT_EQ(tracked::counts().live(), 0); }
};

}  // namespace lido::test
