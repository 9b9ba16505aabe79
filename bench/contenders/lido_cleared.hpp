/// @file
/// Lido with its defaults, with objects cleared by each acquire: what `acquire()` does without
/// arguments.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_cleared : public contender_defaults {
 public:
  static constexpr std::string_view name{"lido_cleared"};
  static constexpr bool fixed_capacity{true};

  explicit lido_cleared(const sizing& size) : pool_{size.capacity} {}

  class session {
   public:
    explicit session(lido_cleared& pool) : pool_{pool.pool_} {}
    [[gnu::always_inline]] void* acquire() { return pool_.try_acquire_ptr(); }
    [[gnu::always_inline]] void release(void* object) {
      pool_.release(static_cast<block<Bytes>*>(object));
    }

   private:
    lido::object_pool<block<Bytes>>& pool_;
  };

 private:
  lido::object_pool<block<Bytes>> pool_;
};

}  // namespace lido_bench
