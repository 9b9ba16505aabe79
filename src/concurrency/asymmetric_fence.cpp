#include "lido/concurrency/asymmetric_fence.hpp"

#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "lido/concurrency/asked_once.hpp"

namespace lido::detail {

#ifdef __linux__

namespace {

bool membarrier(int command) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the C library has no function for it
  return ::syscall(SYS_membarrier, command, 0U, 0) == 0;
}

bool register_process() noexcept {
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

}  // namespace

bool heavy_fence_available() noexcept {
  static constinit asked_once available;
  return available.answer(register_process);
}

bool heavy_fence() noexcept {
  // (1) - this seq_cst-fence, which the kernel runs in every thread, is in one total order with
  // atomic.hpp (1). A forked child may have lost the registration; renewing it is harmless.
  return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (register_process() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

#else

bool heavy_fence_available() noexcept {
  return false;
}
bool heavy_fence() noexcept {
  return false;
}

#endif

}  // namespace lido::detail
