#include "lido/debug/slot_shadow.hpp"

namespace lido::detail {

block_shadow::block_shadow(const std::byte* first, std::size_t size, std::size_t bytes) noexcept
    : first_(first), size_(size), bytes_(bytes), active_(LIDO_POISON_FREE_SLOTS != 0) {
  poison(first_, bytes_);
}

block_shadow::~block_shadow() {
  unpoison(first_, bytes_);
}

}  // namespace lido::detail
