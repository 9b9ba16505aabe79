#include "lido/base/scope_exit.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lido::detail {
namespace {

TEST(ScopeExit, RunsItsActionAtTheEndOfTheScope) {
  int runs = 0;
  {
    const scope_exit undo([&] { ++runs; });
    EXPECT_EQ(runs, 0);
  }
  EXPECT_EQ(runs, 1);
}

TEST(ScopeExit, RunsItsActionWhenAnExceptionLeavesTheScope) {
  int runs = 0;
  try {
    const scope_exit undo([&] { ++runs; });
    throw std::runtime_error("leaves");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(runs, 1);
  }
}

TEST(ScopeExit, DismissedOneDoesNothing) {
  int runs = 0;
  {
    scope_exit undo([&] { ++runs; });
    undo.dismiss();
  }
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace lido::detail
