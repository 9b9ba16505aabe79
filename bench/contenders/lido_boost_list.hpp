/// @file
/// Lido's caches over boost::lockfree::stack.
#pragma once

#include <lido/freelist/boost_list.hpp>

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_boost_list : public lido_pool<Bytes> {
 public:
  static constexpr std::string_view name{"lido_boost_list"};
  explicit lido_boost_list(const sizing& size)
      : lido_pool<Bytes>{
            lido::object_pool_options{.capacity = size.capacity, .list = lido::boost_list()}} {}
};

}  // namespace lido_bench
