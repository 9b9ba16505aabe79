/// What the library asks of the system, in the model: the heavy fence, and ways to wait.
#include <fmt/format.h>

#include "checker/access.hpp"
#include "lido/base/mutation.hpp"
#include "lido/concurrency/asymmetric_fence.hpp"
#include "lido/concurrency/backoff.hpp"
#include "seam/system.hpp"

namespace lido::detail {

bool heavy_fence_available() noexcept {
  return true;
}

bool heavy_fence() noexcept {
  if (model::heavy_fence_may_fail() &&
      model::execution::now().choose(model::question::failure, 2) == 1) {
    return false;
  }
  if (!broken(mutation::no_heavy_fence)) {
    model::heavy_fence({"asymmetric_fence.cpp", 0});
  }
  return true;
}

void yield_thread() noexcept {
  model::execution::now().rest();
}

void nap_thread() noexcept {
  model::execution::now().rest();
}

}  // namespace lido::detail

namespace model {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a switch of a scenario
bool may_fail = false;

}  // namespace

bool heavy_fence_may_fail() noexcept {
  return may_fail;
}

void let_heavy_fence_fail(bool yes) noexcept {
  may_fail = yes;
}

}  // namespace model
