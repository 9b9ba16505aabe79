/// @file
/// Lido with every check on, to measure their cost.
#pragma once

#include <lido/checked.hpp>

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_checked : public lido_pool<Bytes, lido::checked_traits<block<Bytes>>> {
 public:
  static constexpr std::string_view name{"lido_checked"};
  using lido_pool<Bytes, lido::checked_traits<block<Bytes>>>::lido_pool;
};

}  // namespace lido_bench
