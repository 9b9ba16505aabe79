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

/// Receives an event that began at `begin`, in nanoseconds of the steady clock. It may be called in
/// the middle of any operation of a pool, so it uses neither a pool nor memory from `operator new`.
using event_sink = void (*)(traced_act what, std::string_view pool, std::int64_t begin,
                            std::size_t slots) noexcept;

/// The sink of the running trace; null if no trace runs. A thread that has read the pointer may
/// call the function even after the trace has ended.
[[LIDO_VISIBLE]] LIDO_IMPORTED extern constinit unscheduled_atomic<event_sink> current_sink;

[[nodiscard, LIDO_ALWAYS_INLINE]] inline bool is_traced() noexcept {
  // relaxed: the function exists before the pointer is set
  return current_sink.load(std::memory_order_relaxed) != nullptr;
}
[[nodiscard, LIDO_COLD]] std::int64_t read_event_clock() noexcept;
[[LIDO_COLD]] void tell_event(traced_act what, std::string_view pool, std::int64_t begin,
                              std::size_t slots) noexcept;

/// Returns the current time, for an event that begins now. Returns 0 if no trace runs; such an
/// event is not reported.
[[nodiscard]] inline std::int64_t begin_event() noexcept {
  return is_traced() ? read_event_clock() : 0;
}

}  // namespace lido::inline v0::detail
