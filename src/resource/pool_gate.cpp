#include "lido/resource/pool_gate.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "duration_counts.hpp"
#include "lido/concurrency/zeroed_array.hpp"
#include "lido/resource/duration_histogram.hpp"
#include "thread_state_table.hpp"

namespace lido::inline v0::detail {

namespace {

/// Returns the number of hints: four for each resource, so that few keys share a hint.
constexpr std::size_t hints_of(std::uint32_t max_total) noexcept {
  return std::bit_ceil(std::max<std::size_t>(4 * std::size_t{max_total}, 64));
}

template <class T>
std::unique_ptr<T[]> hints(std::uint32_t max_total) {
  return max_total == 0 ? nullptr : std::make_unique<T[]>(hints_of(max_total));
}

}  // namespace

struct gate_memory {
  gate_memory(const life_limits& limits, std::uint32_t max_total)
      : last_of_keys(hints<relaxed<pool_slot*>>(max_total)),
        keys_like(hints<relaxed<std::uint32_t>>(max_total)),
        use_times(limits.time_uses ? thread_states : 0, growth::none) {}

  thread_state_column threads;
  std::unique_ptr<relaxed<pool_slot*>[]> last_of_keys;
  std::unique_ptr<relaxed<std::uint32_t>[]> keys_like;
  zeroed_array<duration_counts> use_times;  ///< one for each thread state
};

pool_gate::pool_gate(const life_limits& limits, std::uint32_t max_total)
    : life(limits),
      memory_(std::make_shared<gate_memory>(limits, max_total)),
      threads_(&memory_->threads.first()),
      last_of_keys_(memory_->last_of_keys.get()),
      keys_like_(memory_->keys_like.get()),
      hint_shift_(64 - static_cast<int>(std::bit_width(hints_of(max_total) - 1))) {}

pool_gate::~pool_gate() = default;

void pool_gate::forget_last() const noexcept {
  const auto forget = [](relaxed<pool_slot*>& last) {
    if (last.get() != nullptr) {  // avoids a write that would take the cache line away from threads
      last.set(nullptr);
    }
  };
  for (std::size_t i = 0, end = states_in_use(); i < end; ++i) {
    std::for_each(state_of(i).last.begin(), state_of(i).last.end(), forget);
  }
  if (has_keys()) {
    const std::size_t hints = std::size_t{1} << (64 - hint_shift_);
    std::for_each(last_of_keys_, last_of_keys_ + hints, forget);
  }
}

void pool_gate::add_use_time(nanos length) noexcept {
  const std::size_t own = own_thread_state();
  memory_->use_times[own].add(length, /*shared=*/own == 0);
}

void pool_gate::add_use_times(duration_histogram& to) const noexcept {
  for (std::size_t i = 0; i < memory_->use_times.size(); ++i) {
    to.add(memory_->use_times[i]);
  }
}

}  // namespace lido::inline v0::detail
