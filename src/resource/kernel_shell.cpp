// Runs the effects of events in order.
#include "kernel_shell.hpp"

#include <random>
#include <utility>

#include "../concurrency/pool_scope.hpp"
#include "../platform/platform.hpp"
#include "lido/platform/compiler.hpp"
#include "thread_state_table.hpp"

namespace lido::inline v0::detail {

namespace {

nanos age_now(const pool_settings& settings, nanos real) noexcept {
  return settings.clock != nullptr ? settings.clock->now().count() : real;
}

/// Frees, in each child of a fork, the mutexes that all pools of the process share. A thread that
/// does not exist in the child may have held such a mutex, even before its pool was registered.
/// Runs before the fork handlers of users, which may construct pools.
LIDO_RUN_AT_LOAD(1001, begin_anew_in_children);
void begin_anew_in_children() noexcept {
  (void)platform::on_fork(nullptr, nullptr, [] { thread_state_column::note_fork(); });
}

/// Returns a seed that differs between pools and between processes. Reading the system's random
/// source takes microseconds, so it is read only once. If it fails, the time and the process id
/// have to suffice.
std::uint32_t next_seed() {
  static const std::uint32_t first =
      attempt([] { return std::uint32_t{std::random_device{}()}; }, [] { return 0U; });
  const auto time = static_cast<std::uint64_t>(steady_now());
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15U;  // spreads close numbers far apart
  return first ^ static_cast<std::uint32_t>((time + platform::process_id()) * golden_ratio >> 32U);
}

}  // namespace

kernel_shell::kernel_shell(pool_core& core, const pool_settings& settings, slot_maker make)
    : core_(core),
      settings_(settings),
      kernel_(std::make_unique<pool_kernel>(settings, &core, make, next_seed())),
      runner_(std::make_unique<task_runner>(*this, settings.has_threads())),
      calls_(*this, settings) {
  kernel_->gate.advance(age_now(settings, steady_now()));
}

kernel_shell::~kernel_shell() {
  if (is_foreign()) {
    (void)runner_.release();  // the runner's threads do not exist in this process
  }
}

void kernel_shell::run(effects& out, bool by_pool) noexcept {
  do {
    while (out.wakes != 0) {
      unpark(out.wake[--out.wakes]);
    }
    if (!out.start.empty() || !out.destroy.empty() || by_pool) {
      runner_->post(out, by_pool);
    }
  } while (interrupt_next(out) || destroy_next(out));
  for (lease_report& report : std::exchange(out.tell, {})) {
    const pool_scope inside(&core_);
    settings_.report(std::move(report.event), report.pool);
  }
  if (!out.call.empty()) {
    callback_queue calls;
    while (acquire_waiter* const waiter = out.call.pop_front()) {
      calls.push_back(*waiter);
    }
    call_in_turn(calls);
  }
  if (out.drained) {
    runner_->wake_closing();
    std::shared_ptr<pool_core> last;
    locked([&] { last = std::move(kept_); });
  }
}

/// Interrupts the next use. The resource is not destroyed before the kernel has been notified.
/// Returns false if there is no use to interrupt.
bool kernel_shell::interrupt_next(effects& out) noexcept {
  pool_slot* const slot = out.interrupt.pop();
  if (slot == nullptr) {
    return false;
  }
  {
    const pool_scope inside(&core_);
    slot->maker->interrupt(*slot);
  }
  tell_kernel([slot](pool_kernel& kernel) { kernel.control.on_interrupted(*slot); }, out);
  return true;
}

/// Destroys the next resource, or asks the kernel for more effects. Returns false if there is
/// nothing left to do.
bool kernel_shell::destroy_next(effects& out) noexcept {
  pool_slot* const slot = out.destroy.pop();
  if (slot == nullptr && !std::exchange(out.more, false)) {
    return false;
  }
  if (slot != nullptr) {
    const pool_scope inside(&core_);
    factory_calls::destroy(*slot);
  }
  tell_kernel(
      [slot](pool_kernel& kernel) {
        slot != nullptr ? kernel.on_destroyed(*slot) : kernel.on_more();
      },
      out);
  return true;
}

void kernel_shell::tick(bool by_pool) noexcept {
  const nanos age = age_now(settings_, steady_now());
  effects out;
  tell_kernel([age](pool_kernel& kernel) { kernel.on_tick(age); }, out);
  run(out, by_pool);
  runner_->run_posted();
}

moment kernel_shell::read_clocks() const noexcept {
  const nanos real = steady_now();  // without threads, ages change only in ticks
  return {real, settings_.has_threads() ? age_now(settings_, real) : kernel_->gate.now()};
}

void kernel_shell::keep_while_leased(std::shared_ptr<pool_core> core) noexcept {
  const auto is_in_use = [](const pool_slot& slot) {
    return slot.state() == resource_state::in_use;
  };
  if (!is_foreign()) {
    locked([&] { kept_ = kernel_->control.is_drained() ? nullptr : std::move(core); });
  } else if (kernel_->table.find(is_in_use) != nullptr) {
    kept_ = std::move(core);
  }
}

void kernel_shell::note_fork() noexcept {
  // relaxed: the process has only one thread
  foreign_.store(true, std::memory_order_relaxed);
  kernel_->gate.flags.set(slow_path_flags::keep_off | slow_path_flags::ask_kernel);
}

}  // namespace lido::inline v0::detail
