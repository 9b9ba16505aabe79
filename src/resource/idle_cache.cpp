// Releases that notify the kernel.
#include "lido/resource/idle_cache.hpp"

#include "../platform/platform.hpp"
#include "kernel_shell.hpp"
#include "lido/resource/pool_core.hpp"

namespace lido::inline v0::detail {

/// Takes back a lease. `refused` is true if `reset` has returned false.
void idle_cache::release_slow(const slot_grant& grant, bool refused) noexcept {
  if (refused) {
    platform::tell_release(grant.slot);
    core_->discard_as(*grant.slot, destroy_reason::reset_refused);
  } else {
    core_->release_slow(grant, was_unwound(*grant.slot));
  }
}

/// Lets the kernel decide what happens to the slot.
void idle_cache::release_marked(const slot_grant& grant) noexcept {
  const auto alive = core_->weak_from_this().lock();  // keeps the core alive during this call
  platform::tell_release(grant.slot);
  core_->shell().apply(
      [&](pool_kernel& kernel) { kernel.on_released(*grant.slot, /*resets=*/false); });
}

/// Notifies the kernel of a slot that is already idle. The slot may be gone by now, but its group
/// exists until `leaving` ends.
void idle_cache::report_idle(leaving_guard& leaving) noexcept {
  if (const auto alive = core_->weak_from_this().lock()) {  // otherwise the slot is gone already
    alive->shell().apply([&](pool_kernel& kernel) {
      leaving.end();
      kernel.on_idle(*group());
    });
  }
}

}  // namespace lido::inline v0::detail
