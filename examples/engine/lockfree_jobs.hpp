/// @file
/// Jobs from an array whose free elements are on a boost::lockfree::stack.
#pragma once

#include <boost/lockfree/stack.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

#include "job_source.hpp"

namespace demo {

class lockfree_jobs {
 public:
  static constexpr std::string_view name = "boost::lockfree::stack";
  static constexpr bool bounded = true;

  explicit lockfree_jobs(std::size_t capacity) : jobs_(capacity), free_(capacity) {
    for (job& one : jobs_) {
      free_.bounded_push(&one);
    }
  }

  job* acquire() {
    job* taken = nullptr;
    return free_.pop(taken) ? taken : nullptr;
  }

  /// Returns a job. Never fails: the stack was made with a node for every job.
  void release(job* done) noexcept { free_.bounded_push(done); }

 private:
  std::vector<job> jobs_;
  boost::lockfree::stack<job*> free_;
};

static_assert(job_source<lockfree_jobs>);

}  // namespace demo
