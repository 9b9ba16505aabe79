/// @file
/// A table of options, with a check that each is obeyed.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>

namespace lido::test {

/// An option, and whether it is obeyed.
struct option_row {
  const char* option;
  std::function<bool()> is_obeyed;
};

/// Expects that all rows are obeyed. `options`: number of options.
template <std::size_t Rows>
void expect_all(const option_row (&rows)[Rows], std::size_t options) {
  for (const option_row& one : rows) {
    EXPECT_TRUE(one.is_obeyed()) << one.option;
  }
  EXPECT_EQ(Rows, options) << "an option has no row";
}

}  // namespace lido::test
