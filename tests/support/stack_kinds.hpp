/// @file
/// The free lists that a build can run, for typed suites.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "lido/freelist/boost_stack.hpp"
#include "lido/freelist/treiber_stack.hpp"
#include "support/sanitizers.hpp"

namespace lido::test {

// The links of Boost's stack race by the letter of the standard, so ThreadSanitizer must not see
// it.
#if LIDO_TEST_TSAN
using shared_stacks = ::testing::Types<detail::treiber_stack<>>;
using all_stacks = ::testing::Types<detail::treiber_stack<>, detail::treiber_stack<1>>;
#else
using shared_stacks = ::testing::Types<detail::treiber_stack<>, detail::boost_stack>;
/// With the narrow tag, which only one thread may use.
using all_stacks =
    ::testing::Types<detail::treiber_stack<>, detail::treiber_stack<1>, detail::boost_stack>;
#endif

struct stack_names {
  template <class Stack>
  static std::string GetName(int /*index*/) {
    if (std::is_same_v<Stack, detail::boost_stack>) {
      return "boost";
    }
    return std::is_same_v<Stack, detail::treiber_stack<1>> ? "narrow" : "treiber";
  }
};

}  // namespace lido::test
