// Adopts a resource that the pool did not create.
#include "lido/resource/adoption.hpp"

#include <utility>

#include "../platform/platform.hpp"
#include "kernel_shell.hpp"
#include "lido/debug/registry.hpp"
#include "lido/resource/pool_core.hpp"

namespace lido::inline v0::detail {

adoption::adoption(pool_core& core, sought_key* key) : core_(core.shared_from_this()) {
  require_own_copy(core.origin());
  if (core.shell().is_foreign()) {
    return;
  }
  const auto begin = [this](pool_kernel& kernel, slot_group& group) {
    slot_ = kernel.control.on_adopt(group);
  };
  while (!core.shell().apply_to([&] { return core.groups().find_or_add(key); }, begin)) {
    key->prepare();
  }
}

void adoption::end(bool made) noexcept {
  pool_slot* const slot = std::exchange(slot_, nullptr);
  if (slot != nullptr) {
    platform::tell_release(slot);
    core_->shell().apply([&](pool_kernel& kernel) { kernel.on_adopted(*slot, made); });
  }
}

}  // namespace lido::inline v0::detail
