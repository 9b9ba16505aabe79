#include "event_sink.hpp"

#include <chrono>

namespace lido::inline v0::detail {

constinit unscheduled_atomic<event_sink> current_sink{nullptr};

std::int64_t read_event_clock() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void tell_event(traced_act what, std::string_view pool, std::int64_t begin,
                std::size_t slots) noexcept {
  // relaxed: as in is_traced; the trace may have ended in the meantime
  const event_sink sink = current_sink.load(std::memory_order_relaxed);
  if (sink != nullptr && begin != 0) {
    sink(what, pool, begin, slots);
  }
}

}  // namespace lido::inline v0::detail
