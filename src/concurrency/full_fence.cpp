#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

void full_fence() noexcept {
  // (1) - this seq_cst-fence is in one total order with itself, the seq_cst-fence (1)
  atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace lido::inline v0::detail
