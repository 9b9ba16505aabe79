/// @file
/// Pools that are named after the subject of a test: they grow, or keep their objects, whatever the
/// options say.
#pragma once

#include <utility>

#include "lido/object_pool.hpp"

namespace lido::test {

template <class T, class Hooks = keep>
struct kept_traits : pool_traits<T> {
  using hooks = Hooks;
};
template <class T, class Hooks = keep>
using kept_pool_of = object_pool<T, kept_traits<T, Hooks>>;

template <class T, class Traits = pool_traits<T>>
class growing_pool : public object_pool<T, Traits> {
 public:
  explicit growing_pool(const object_pool_options& options,
                        typename Traits::hooks hooks = typename Traits::hooks())
      : object_pool<T, Traits>(growing(options), std::move(hooks)) {}

 private:
  static object_pool_options growing(object_pool_options options) {
    options.when_full = when_full::grow;
    return options;
  }
};
template <class T, class Hooks = keep>
using growing_kept_pool = growing_pool<T, kept_traits<T, Hooks>>;

}  // namespace lido::test
