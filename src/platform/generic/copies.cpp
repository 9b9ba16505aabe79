#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

void* own_copy_word() noexcept {
  alignas(std::uintptr_t) static constinit std::array<std::byte, sizeof(std::uintptr_t)> word{};
  return word.data();
}

void visit_copies(void (*visit)(void* word, void* context), void* context) noexcept {
  visit(own_copy_word(), context);
}

}  // namespace lido::inline v0::detail::platform
