/// @file
/// Lido's object pool under any list of policies. default_init leaves a trivial object as it is,
/// which is what every other contender does.
#pragma once

#include <lido/object_pool.hpp>

#include <concepts>

#include "../contender.hpp"

namespace lido_bench {

template <std::size_t Bytes, typename... Policies>
class lido_pool : public contender_defaults {
 public:
  static constexpr bool fixed_capacity{true};

  explicit lido_pool(const sizing& size) : pool_{options_for(size)} {}

  class session {
   public:
    explicit session(lido_pool& pool) : pool_{pool.pool_} {}
    [[gnu::always_inline]] void* acquire() { return pool_.try_acquire_ptr(lido::default_init); }
    [[gnu::always_inline]] void release(void* object) {
      pool_.release(static_cast<block<Bytes>*>(object));
    }

   private:
    lido::object_pool<block<Bytes>, Policies...>& pool_;
  };

 private:
  static lido::object_pool_options options_for(const sizing& size) {
    constexpr bool grows{(... || std::same_as<Policies, lido::policy::grow>)};
    return {.capacity = size.capacity, .max_capacity = grows ? size.capacity : 0};
  }

  lido::object_pool<block<Bytes>, Policies...> pool_;
};

}  // namespace lido_bench
