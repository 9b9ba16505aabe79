/// @file
/// Internal. The calls of a pool's factory.
#pragma once

#include <stop_token>

#include "lido/concurrency/parking.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

class kernel_shell;

/// Calls the factory for a slot that the caller owns, without locks, and reports to the kernel how
/// a create or the task of a slot has ended.
class factory_calls {
 public:
  factory_calls(kernel_shell& shell, const pool_settings& settings) noexcept
      : shell_(shell), settings_(settings) {}

  /// Creates a resource, up to the deadline or `create_timeout`. Returns it if the caller keeps it;
  /// nothing if the create failed, or the kernel gave the resource to others. A close, a flush and
  /// `stop` ask the create to stop.
  [[nodiscard]] slot_grant create(pool_slot& slot, const deadline& until,
                                  const std::stop_token& stop) noexcept;
  /// Validates a resource, up to the deadline or `validate_timeout`; stopped as `create`. Returns
  /// true if it is valid, even after a flush: the kernel destroys it in any case.
  [[nodiscard]] bool validate(pool_slot& slot, const deadline& until,
                              const std::stop_token& stop) noexcept;
  /// Resets a resource. Returns false if it is unusable now.
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
