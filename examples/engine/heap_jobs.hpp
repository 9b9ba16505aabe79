/// @file
/// Jobs from new and delete: the engine without a pool.
#pragma once

#include <string_view>

#include "job_source.hpp"

namespace demo {

class heap_jobs {
 public:
  static constexpr std::string_view name = "new / delete";
  static constexpr bool bounded = false;

  // NOLINTBEGIN(readability-convert-member-functions-to-static): the concept asks an object
  job* acquire() { return new job; }
  void release(job* done) noexcept { delete done; }
  // NOLINTEND(readability-convert-member-functions-to-static)
};

static_assert(job_source<heap_jobs>);

}  // namespace demo
