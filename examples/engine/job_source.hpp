/// @file
/// The engine's requirements on a source of job objects.
#pragma once

#include <concepts>
#include <string_view>

#include "job.hpp"

namespace demo {

/// `acquire` returns a job with indeterminate contents, or nullptr if none is free; `release` may
/// be called by any thread. `bounded`: whether the source itself limits how many jobs are out.
template <class S>
concept job_source = requires(S& source, job* taken) {
  { source.acquire() } -> std::same_as<job*>;
  { source.release(taken) }
  noexcept;
  { S::bounded } -> std::convertible_to<bool>;
  { S::name } -> std::convertible_to<std::string_view>;
};

}  // namespace demo
