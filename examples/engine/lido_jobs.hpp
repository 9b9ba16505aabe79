/// @file
/// Jobs from a Lido pool.
#pragma once

#include <cstddef>
#include <lido/object_pool.hpp>
#include <string_view>

#include "job_source.hpp"

namespace demo {

class lido_jobs {
 public:
  static constexpr std::string_view name = "lido::object_pool";
  static constexpr bool bounded = true;

  explicit lido_jobs(std::size_t capacity) : pool_({.capacity = capacity, .name = "jobs"}) {}

  job* acquire() { return pool_.try_acquire_ptr(lido::default_init); }
  void release(job* done) noexcept { pool_.release(done); }

 private:
  lido::object_pool<job> pool_;
};

static_assert(job_source<lido_jobs>);

}  // namespace demo
