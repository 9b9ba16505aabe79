/// @file
/// Lido under the policy that asks when the pool is exhausted, which it never is here: what the
/// policy costs while it has nothing to do. By `acquire`, since only that one asks.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

struct give_up {
  lido::exhaustion_answer operator()(const lido::exhaustion& /*what*/) const noexcept {
    return lido::exhaustion_answer::drop;
  }
};

template <std::size_t Bytes>
class lido_on_exhausted : public contender_defaults {
  using pool = lido::object_pool<block<Bytes>, lido::policy::on_exhausted<give_up>>;

 public:
  static constexpr std::string_view name{"lido_on_exhausted"};
  static constexpr bool fixed_capacity{true};

  explicit lido_on_exhausted(const sizing& size)
      : pool_{lido::object_pool_options{.capacity = size.capacity}} {}

  class session {
   public:
    explicit session(lido_on_exhausted& shared) : pool_{shared.pool_} {}
    [[gnu::always_inline]] void* acquire() { return pool_.acquire(lido::default_init).detach(); }
    [[gnu::always_inline]] void release(void* object) {
      pool_.release(static_cast<block<Bytes>*>(object));
    }

   private:
    pool& pool_;
  };

 private:
  pool pool_;
};

}  // namespace lido_bench
