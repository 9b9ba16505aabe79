#include "lido/concurrency/atomic.hpp"

#include "../platform/platform.hpp"
#include "asked_once.hpp"

namespace lido::inline v0::detail {

bool heavy_fence_available() noexcept {
  static constinit asked_once available;
  return available.answer(platform::register_heavy_fence);
}

bool heavy_fence() noexcept {
  // (1) - this seq_cst-fence, which the kernel runs in every thread, is in one total order with
  // atomic.hpp (1). A forked child may have lost the registration; registering again is harmless.
  return platform::heavy_fence() || (platform::register_heavy_fence() && platform::heavy_fence());
}

}  // namespace lido::inline v0::detail
