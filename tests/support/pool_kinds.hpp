/// @file
/// Kinds of pools that must all keep the same promises. A suite with
/// `WithParamInterface<pool_kind>` runs once for each kind; its pools are `kind_pool`s. With
/// LIDO_TEST_CHECKED, all these pools are checked, and end the program if they are misused.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "lido/checked.hpp"
#include "lido/freelist/boost_list.hpp"
#include "lido/object_pool.hpp"
#include "support/sanitizers.hpp"

namespace lido::test {

/// Kinds of pools; boost uses the list of another library, except in pools that grow.
enum class pool_kind : std::uint8_t { revocable, locked, uncached, boost };

#if LIDO_TEST_TSAN  // which reports the races of Boost's list
inline const auto pool_kinds =
    ::testing::Values(pool_kind::revocable, pool_kind::locked, pool_kind::uncached);
#else
inline const auto pool_kinds = ::testing::Values(pool_kind::revocable, pool_kind::locked,
                                                 pool_kind::uncached, pool_kind::boost);
#endif

inline std::string pool_kind_name(const ::testing::TestParamInfo<pool_kind>& info) {
  switch (info.param) {
    case pool_kind::revocable:
      return "revocable";
    case pool_kind::locked:
      return "locked";
    case pool_kind::uncached:
      return "uncached";
    case pool_kind::boost:
      return "boost";
  }
  return "unknown";
}

/// Returns the pool kind of the running test.
inline pool_kind this_kind() {
  return ::testing::WithParamInterface<pool_kind>::GetParam();
}

inline object_pool_options of_this_kind(object_pool_options options) {
  options.caches = this_kind() == pool_kind::locked     ? cache_kind::locked
                   : this_kind() == pool_kind::uncached ? cache_kind::none
                                                        : cache_kind::revocable;
  if (this_kind() == pool_kind::boost && options.when_full != when_full::grow) {
    options.list = boost_list();
  }
  return options;
}

#ifdef LIDO_TEST_CHECKED
template <class T>
using kind_traits = checked_traits<T>;
#else
template <class T>
using kind_traits = pool_traits<T>;
#endif

template <class T>
struct tracking_traits : kind_traits<T> {
  static constexpr bool track_in_use = true;
};

template <class T, class Hooks>
struct keeping_traits : kind_traits<T> {
  using hooks = Hooks;
};

/// A pool of the kind of the running test.
template <class T, class Traits = kind_traits<T>>
class kind_pool : public object_pool<T, Traits> {
 public:
  explicit kind_pool(std::size_t capacity) : kind_pool(object_pool_options{.capacity = capacity}) {}
  explicit kind_pool(const object_pool_options& options,
                     typename Traits::hooks hooks = typename Traits::hooks())
      : object_pool<T, Traits>(of_this_kind(options), std::move(hooks)) {}
};

template <class T, class Hooks>
using keeping_pool = kind_pool<T, keeping_traits<T, Hooks>>;

}  // namespace lido::test
