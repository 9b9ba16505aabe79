/// @file
/// Internal. Calls the hooks of a pool's factory.
#pragma once

#include <stop_token>

#include "lido/concurrency/parking.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

class kernel_shell;

/// Calls the factory for a slot that the caller owns, with no lock held. Reports to the kernel how
/// a create or the task of a slot has ended.
class factory_calls {
 public:
  factory_calls(kernel_shell& shell, const pool_settings& settings) noexcept
      : shell_(shell), settings_(settings) {}

  /// Creates a resource by the deadline `until`, or within `create_timeout` if that ends earlier.
  /// Returns the resource if the caller keeps it. Returns an empty grant if the create failed, or
  /// if the kernel gave the resource to others. A close, a flush and `stop` each request that the
  /// create stop.
  [[nodiscard]] slot_grant create(pool_slot& slot, const deadline& until,
                                  const std::stop_token& stop) noexcept;
  /// Validates a resource by the deadline `until`, or within `validate_timeout` if that ends
  /// earlier. A validation can be stopped in the same ways as a create. Returns true if the
  /// resource is valid, even if it has been flushed: the kernel destroys a flushed resource in any
  /// case.
  [[nodiscard]] bool validate(pool_slot& slot, const deadline& until,
                              const std::stop_token& stop) noexcept;
  /// Resets a resource. Returns false if the resource is no longer usable.
  [[nodiscard]] bool reset(pool_slot& slot) noexcept { return check(slot, nullptr); }
  static void destroy(pool_slot& slot) noexcept;
  /// Runs the task of a slot. Called by a thread that keeps the core alive.
  void run_task(pool_slot& slot) noexcept;

 private:
  template <class F>
  bool call_stoppable(const pool_slot& slot, const std::stop_token& stop, const F& f) noexcept;
  [[nodiscard]] bool check(pool_slot& slot, const create_context* context) noexcept;

  kernel_shell& shell_;
  const pool_settings& settings_;
};

}  // namespace lido::inline v0::detail
