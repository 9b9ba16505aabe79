/// @file
/// Lido's caches over boost::lockfree::stack.
#pragma once

#include <lido/freelist/boost_stack.hpp>

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_boost_list : public lido_pool<Bytes, lido::policy::boost_list> {
 public:
  static constexpr std::string_view name{"lido_boost_list"};
  using lido_pool<Bytes, lido::policy::boost_list>::lido_pool;
};

}  // namespace lido_bench
