/// @file
/// The common part of the stores over an object_pool, which differ in how they emit.
#pragma once

#include <cstddef>
#include <lido/object_pool.hpp>

#include "../particle.hpp"
#include "flock.hpp"

namespace particles {

class leased {
 public:
  void make_room(std::size_t /*births*/) noexcept {}

  void settle() { flock_.settle(); }

  template <class Keep>
  void walk(const Keep& keep) {
    flock_.walk(keep);
  }

  template <class See>
  void visit(const See& see) const {
    flock_.visit(see);
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return pool_.capacity(); }
  [[nodiscard]] std::size_t in_use() const noexcept { return pool_.stats().in_use; }

 protected:
  explicit leased(const lido::object_pool_options& options) : pool_(options) {}

  lido::object_pool<particle>& pool() noexcept { return pool_; }
  flock<lido::lease<particle>>& members() noexcept { return flock_; }

 private:
  lido::object_pool<particle> pool_;
  flock<lido::lease<particle>> flock_;  // after the pool, so that it is destroyed first
};

}  // namespace particles
