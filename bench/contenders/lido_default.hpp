/// @file
/// Lido with its defaults: revocable thread caches over its own stack.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_default : public lido_pool<Bytes> {
 public:
  static constexpr std::string_view name{"lido"};
  using lido_pool<Bytes>::lido_pool;
};

}  // namespace lido_bench
