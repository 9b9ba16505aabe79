/// @file
/// Combinations of policies that decide where slots come from, for typed suites: each policy once,
/// or with LIDO_TEST_ALL_TYPES every combination.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "lido/checked.hpp"
#include "lido/freelist/boost_stack.hpp"
#include "lido/object_pool.hpp"
#include "support/sanitizers.hpp"

namespace lido::test {

template <class... Policies>
struct kind {
  template <class T, class... More>
  using pool = object_pool<T, Policies..., More...>;

  template <class Policy>
  static constexpr bool has = (... || std::is_same_v<Policy, Policies>);
};

template <class... Kinds>
struct kind_list {
  using types = ::testing::Types<Kinds...>;
  template <class... More>
  using and_also = ::testing::Types<Kinds..., More...>;
};

/// The links of Boost's stack race by the letter of the standard, so ThreadSanitizer must not see
/// it.
#if LIDO_TEST_TSAN
using unchecked_kind_list = kind_list<kind<>, kind<policy::locked_cache>, kind<policy::no_cache>>;
#elif defined(LIDO_TEST_ALL_TYPES)
using unchecked_kind_list =
    kind_list<kind<>, kind<policy::locked_cache>, kind<policy::no_cache>, kind<policy::boost_list>,
              kind<policy::boost_list, policy::locked_cache>,
              kind<policy::no_cache, policy::boost_list>>;
#else
using unchecked_kind_list =
    kind_list<kind<>, kind<policy::boost_list, policy::locked_cache>, kind<policy::no_cache>>;
#endif
using unchecked_pool_kinds = unchecked_kind_list::types;
/// And one that reports wrong use, by ending the program: there must be none.
using pool_kinds = unchecked_kind_list::and_also<kind<policy::checked>>;

struct pool_kind_names {
  template <class Kind>
  static std::string GetName(int /*index*/) {
    if (Kind::template has<policy::checked>) {
      return "checked";
    }
    const std::string list = Kind::template has<policy::boost_list> ? "boost_" : "";
    if (Kind::template has<policy::no_cache>) {
      return list + "uncached";
    }
    return list + (Kind::template has<policy::locked_cache> ? "locked" : "revocable");
  }
};

}  // namespace lido::test
