#include "harness/stall.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "lido/concurrency/atomic.hpp"

namespace {

enum class stage : std::uint8_t { running, stopped, resumed };

std::atomic<stage> now{stage::running};
constinit thread_local std::uint32_t stop_at = stress::stall::never;
constinit thread_local std::uint32_t count = 0;
constinit thread_local auto last = lido::detail::access::change;
constinit thread_local std::vector<std::uintptr_t>* record_in = nullptr;

void change(stage next) noexcept {
  now = next;
  now.notify_all();
}

}  // namespace

namespace stress {

void stall::arm(std::uint32_t n) noexcept {
  stop_at = n;
  count = 0;
}

void stall::record(std::vector<std::uintptr_t>& places) noexcept {
  record_in = &places;
}

bool stall::wait_for_one(const std::atomic<bool>* over) noexcept {
  int left = 100'000;
  for (; left > 0 && now == stage::running; --left) {
    left = over != nullptr && *over ? std::min(left, 10'000) : left;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return now == stage::stopped;
}

void stall::end() noexcept {
  change(stage::resumed);
}

void stall::reset() noexcept {
  change(stage::running);
}

std::vector<std::uint32_t> stall::choose(const std::vector<std::uintptr_t>& places,
                                         unsigned per_window) {
  std::map<std::uintptr_t, std::vector<std::uint32_t>> by_place;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    by_place[places[i]].push_back(i + 1);
  }
  std::vector<std::uint32_t> chosen;
  std::size_t turn = 0;
  for (const auto& [place, at] : by_place) {
    const std::size_t final = at.size() - 1;
    if (per_window == 1) {
      chosen.push_back(at[final * (turn++ % 3) / 2]);
      continue;
    }
    const std::size_t parts =
        std::max<std::size_t>(std::min<std::size_t>(per_window - 1, final), 1);
    for (std::size_t i = 0; i <= std::min<std::size_t>(parts, final); ++i) {
      chosen.push_back(at[final * i / parts]);
    }
  }
  return chosen;
}

std::size_t stall::count_windows(std::vector<std::uintptr_t> places) {
  std::sort(places.begin(), places.end());
  return static_cast<std::size_t>(std::unique(places.begin(), places.end()) - places.begin());
}

}  // namespace stress

namespace lido::inline v0::detail {

/// Stops a thread, or records the point. A load after another load is no point to stop at: to all
/// others the thread looks the same there as at its next change.
[[gnu::noinline]] void schedule_point(access next) noexcept {
  const access before = std::exchange(last, next);
  if (before == access::load && next == access::load) {
    return;
  }
  if (record_in != nullptr) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a name for the caller's place
    record_in->push_back(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  }
  if (++count == stop_at && now == stage::running) {
    change(stage::stopped);
    now.wait(stage::stopped);
  }
}

}  // namespace lido::inline v0::detail
