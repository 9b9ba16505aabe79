/// @file
/// The free lists that a build can run, for parameterised suites.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lido/freelist/boost_list.hpp"
#include "support/list_for_tests.hpp"
#include "support/sanitizers.hpp"

namespace lido::test {

struct list_kind {
  const char* name;
  const shared_list* lists;
  detail::growth kind = detail::growth::none;

  /// Returns an empty list with space for `nodes` indices.
  [[nodiscard]] std::unique_ptr<detail::index_list> make_empty(std::uint32_t nodes) const {
    auto list = lists->make(nodes, nodes, kind);
    if (kind == detail::growth::by_steps) {
      EXPECT_EQ(list->extend_to(nodes), 0);
    }
    return list;
  }

  friend void PrintTo(const list_kind& printed, std::ostream* out) { *out << printed.name; }
};

/// Returns the lists that several threads may use. By the letter of the standard, the links of
/// Boost's stack race, so ThreadSanitizer must not see that list.
inline std::vector<list_kind> shared_lists() {
  static const narrow_tags own(64);
  static const flaky_list flaky;
  std::vector<list_kind> kinds{
      {"treiber", &own}, {"growing", &own, detail::growth::by_steps}, {"flaky", &flaky}};
#if !LIDO_TEST_TSAN
  kinds.push_back({"boost", boost_list()});
#endif
  return kinds;
}

/// Returns all lists, including the list with the narrow tag, which only one thread may use.
inline std::vector<list_kind> all_lists() {
  static const narrow_tags narrow(1);
  std::vector<list_kind> kinds = shared_lists();
  kinds.push_back({"narrow", &narrow});
  return kinds;
}

inline std::string list_name(const ::testing::TestParamInfo<list_kind>& info) {
  return info.param.name;
}

}  // namespace lido::test
