/// @file
/// Internal. Checks all slots from time to time, for old idle resources and for long leases.
#pragma once

#include <cstdint>
#include <utility>

#include "kernel_context.hpp"
#include "lease_monitor.hpp"
#include "lido/resource/pool_gate.hpp"
#include "lido/resource/slot.hpp"
#include "pool_numbers.hpp"
#include "resource_slots.hpp"
#include "slot_group.hpp"
#include "slot_table.hpp"

namespace lido::inline v0::detail {

/// Closes idle resources that are too old or too many, begins the validations for `keepalive`, and
/// reports leases that have been held for a long time. Guarded by the pool's mutex.
class slot_sweep {
 public:
  slot_sweep(kernel_context& context, resource_slots& slots, const pool_slot_table& table,
             const pool_gate& gate, lease_monitor& monitor, pool_numbers& numbers) noexcept
      : context_(context),
        slots_(slots),
        table_(table),
        gate_(gate),
        monitor_(monitor),
        numbers_(numbers) {}

  /// Returns the real time at which the next sweep is due, or `never` while the sweeps rest.
  [[nodiscard]] nanos next() const noexcept { return is_resting_ ? never : next_; }
  /// Stops the sweeps while `has_nothing` is true, that is, while there is neither a resource nor a
  /// key. Called after each event.
  void rest(bool has_nothing) noexcept {
    if (is_resting_ && !has_nothing) {
      plan();
    }
    is_resting_ = has_nothing;
  }
  [[nodiscard]] bool is_resting() const noexcept { return is_resting_; }
  /// Returns true if a sweep is due by either clock.
  [[nodiscard]] bool is_due() const noexcept {
    return context_.now.real >= next_ || context_.now.age >= next_age_;
  }
  /// Returns true while a sweep has not yet visited all slots.
  [[nodiscard]] bool is_under_way() const noexcept { return from_ != 0; }
  /// Checks the next part of the slots. Each call checks only a part, so that the mutex is held for
  /// at most a millisecond at a time.
  void look_at_more() noexcept;
  /// Begins the next validation for `keepalive`. Called after such a validation has ended.
  void keep_next_alive() noexcept;
  /// Reports the end of a lease that was reported as long.
  void note_return(pool_slot& slot) noexcept {
    if (std::exchange(slot.record.reported, std::uint8_t{0}) != 0) {
      report(pool_event::kind::returned_after_all, slot);
    }
  }

 private:
  void let_surplus_age() noexcept;
  [[nodiscard]] bool needs_keepalive(const pool_slot& slot) const noexcept;
  [[nodiscard]] bool keep_alive_if_due(pool_slot& slot) noexcept;
  [[nodiscard]] bool may_keep_alive(const slot_group& group) const noexcept;
  /// Plans the next sweep. Sweeps of pools with the same period are due at the same moments, so
  /// that the process wakes only once for all of them.
  void plan() noexcept {
    const nanos period = context_.settings.period;
    next_ = later(context_.now.real, period - context_.now.real % period);
    next_age_ = later(context_.now.age, period);
  }
  void look_at(pool_slot& slot) noexcept;
  void look_at_idle(pool_slot& slot) noexcept;
  void look_at_lease(pool_slot& slot) noexcept;
  void report(pool_event::kind what, const pool_slot& slot) const noexcept;

  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};

  kernel_context& context_;
  resource_slots& slots_;
  const pool_slot_table& table_;
  const pool_gate& gate_;
  lease_monitor& monitor_;
  pool_numbers& numbers_;
  nanos next_ = 0;  // when the next sweep is due in real time
  // When the next sweep is due by the pool's clock. The earlier of the two times counts.
  nanos next_age_ = 0;
  // When threads are next made to forget which resource they used last, by the pool's clock.
  nanos forgets_at_ = 0;
  std::uint32_t keeps_from_ = no_slot;  // the first slot whose keepalive may be due
  std::uint32_t from_ = 0;              // the first slot that has not been visited yet
  bool is_resting_ = false;
};

}  // namespace lido::inline v0::detail
