#include "lido/debug/block_shadow.hpp"

namespace lido::detail {

block_shadow::block_shadow(const std::byte* first, std::size_t size, std::size_t bytes) noexcept
    : first_(first), size_(size), bytes_(bytes), active_(LIDO_POISON_FREE_BLOCKS != 0) {
#if LIDO_POISON_FREE_BLOCKS
  __asan_poison_memory_region(first_, bytes_);
#endif
}

// NOLINTNEXTLINE(modernize-use-equals-default): not with AddressSanitizer
block_shadow::~block_shadow() {
#if LIDO_POISON_FREE_BLOCKS
  __asan_unpoison_memory_region(first_, bytes_);
#endif
}

}  // namespace lido::detail
