/// @file
/// Lido's object pool with any options. default_init leaves a trivial object unchanged, as do all
/// other contenders.
#pragma once

#include <lido/object_pool.hpp>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes, typename Traits = lido::pool_traits<block<Bytes>>>
class lido_pool : public contender_defaults {
 public:
  static constexpr bool fixed_capacity{true};

  explicit lido_pool(const sizing& size)
      : lido_pool{lido::object_pool_options{.capacity = size.capacity}} {}

  class session {
   public:
    explicit session(lido_pool& pool) : pool_{pool.pool_} {}
    [[gnu::always_inline]] void* acquire() { return pool_.try_acquire_ptr(lido::default_init); }
    [[gnu::always_inline]] void release(void* object) {
      pool_.release(static_cast<block<Bytes>*>(object));
    }

   private:
    lido::object_pool<block<Bytes>, Traits>& pool_;
  };

 protected:
  explicit lido_pool(const lido::object_pool_options& options) : pool_{options} {}

 private:
  lido::object_pool<block<Bytes>, Traits> pool_;
};

}  // namespace lido_bench
