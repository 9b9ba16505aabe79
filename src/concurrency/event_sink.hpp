/// @file
/// Internal. Reports events of slow paths while a trace runs; see lido/trace.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/concurrency/atomic.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

enum class traced_act : std::uint8_t { refill, flush, theft, wait, grow, create };

/// Receives an event that began at `begin`, in nanoseconds of the steady clock. Called in the
/// middle of an operation of any pool, so it uses no pool and no memory of `operator new`.
using event_sink = void (*)(traced_act what, std::string_view pool, std::int64_t begin,
                            std::size_t slots) noexcept;

/// Null while no trace runs. The function stays valid for threads that have read it.
[[LIDO_VISIBLE]] LIDO_IMPORTED extern constinit unscheduled_atomic<event_sink> current_sink;

[[nodiscard, LIDO_ALWAYS_INLINE]] inline bool is_traced() noexcept {
  // relaxed: the function exists before the pointer is set
  return current_sink.load(std::memory_order_relaxed) != nullptr;
}
[[nodiscard, LIDO_COLD]] std::int64_t read_event_clock() noexcept;
[[LIDO_COLD]] void tell_event(traced_act what, std::string_view pool, std::int64_t begin,
                              std::size_t slots) noexcept;

/// Returns the time at which an event begins, or 0 if no trace runs; then it is not reported.
[[nodiscard]] inline std::int64_t begin_event() noexcept {
  return is_traced() ? read_event_clock() : 0;
}

}  // namespace lido::inline v0::detail
