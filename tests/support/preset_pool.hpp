/// @file
/// Pools whose options are part of their type, for typed suites and for drivers.
#pragma once

#include <cstddef>
#include <utility>

#include "lido/freelist/boost_list.hpp"
#include "lido/object_pool.hpp"

namespace lido::test {

// Each of these changes the options that a pool is given.
struct as_given {
  static void apply(object_pool_options& /*options*/) {}
};
struct locked_caches {
  static void apply(object_pool_options& options) { options.caches = cache_kind::locked; }
};
struct no_caches {
  static void apply(object_pool_options& options) { options.caches = cache_kind::none; }
};
struct over_boost {
  static void apply(object_pool_options& options) { options.list = boost_list(); }
};
struct waits {
  static void apply(object_pool_options& options) { options.when_full = when_full::wait; }
};
struct grows {
  static void apply(object_pool_options& options) { options.when_full = when_full::grow; }
};

/// An object_pool that applies `Presets` to the options it is given.
template <class T, class Traits = pool_traits<T>, class... Presets>
class preset_pool : public object_pool<T, Traits> {
 public:
  using hooks = typename Traits::hooks;

  explicit preset_pool(std::size_t capacity)
      : preset_pool(object_pool_options{.capacity = capacity}) {}
  explicit preset_pool(const object_pool_options& options)
      : object_pool<T, Traits>(with(options)) {}
  preset_pool(const object_pool_options& options, hooks given)
      : object_pool<T, Traits>(with(options), std::move(given)) {}

 private:
  static object_pool_options with(object_pool_options options) {
    (Presets::apply(options), ...);
    return options;
  }
};

}  // namespace lido::test
