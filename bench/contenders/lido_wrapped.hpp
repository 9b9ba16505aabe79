/// @file
/// Lido behind a user's class, whose members are one line each. Nothing forces the compiler to
/// inline them.
#pragma once

#include <lido/object_pool.hpp>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_wrapped : public contender_defaults {
  /// A typical user's class around a pool.
  class objects {
   public:
    explicit objects(std::size_t capacity) : pool_{capacity} {}
    block<Bytes>* get() { return pool_.try_acquire_ptr(lido::default_init); }
    void put(block<Bytes>* object) { pool_.release(object); }

   private:
    lido::object_pool<block<Bytes>> pool_;
  };

 public:
  static constexpr std::string_view name{"lido_wrapped"};
  static constexpr bool fixed_capacity{true};

  explicit lido_wrapped(const sizing& size) : objects_{size.capacity} {}

  class session {
   public:
    explicit session(lido_wrapped& pool) : objects_{pool.objects_} {}
    void* acquire() { return objects_.get(); }
    void release(void* object) { objects_.put(static_cast<block<Bytes>*>(object)); }

   private:
    objects& objects_;
  };

 private:
  objects objects_;
};

}  // namespace lido_bench
