/// @file
/// What the stores over an object_pool have in common: all but how they emit.
#pragma once

#include <cstddef>
#include <lido/object_pool.hpp>

#include "flock.hpp"

namespace particles {

template <class Pool>
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

  Pool& pool() noexcept { return pool_; }
  flock<typename Pool::lease_type>& members() noexcept { return flock_; }

 private:
  Pool pool_;
  flock<typename Pool::lease_type> flock_;  // after the pool, so that it goes first
};

}  // namespace particles
