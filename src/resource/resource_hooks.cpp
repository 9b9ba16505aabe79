#include "../concurrency/uncancelled.hpp"
#include "lido/resource/resource_slot.hpp"

namespace lido::detail {

void resource_hooks::create(resource_slot& slot, const create_context& context) {
  const uncancelled guard;
  do_create(slot, context);
}

bool resource_hooks::validate(resource_slot& slot, const create_context& context) noexcept {
  const uncancelled guard;
  return do_validate(slot, context);
}

bool resource_hooks::reset(resource_slot& slot) noexcept {
  const uncancelled guard;
  return do_reset(slot);
}

void resource_hooks::destroy(resource_slot& slot, destroy_reason reason) noexcept {
  const uncancelled guard;
  do_destroy(slot, reason);
}

}  // namespace lido::detail
