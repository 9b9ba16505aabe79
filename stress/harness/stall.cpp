#include "harness/stall.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "lido/concurrency/atomic.hpp"

namespace {

enum class stage : std::uint8_t { running, stopped, resumed };

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): reached from inside the library
std::atomic<stage> now{stage::running};
constinit thread_local std::uint32_t stop_at = stress::stall::never;
constinit thread_local std::uint32_t count = 0;
constinit thread_local std::vector<std::uintptr_t>* record_in = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

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
  for (const auto& [place, at] : by_place) {
    const std::size_t last = at.size() - 1;
    const std::size_t parts = std::max<std::size_t>(std::min<std::size_t>(per_window - 1, last), 1);
    for (std::size_t i = 0; i <= std::min<std::size_t>(parts, last); ++i) {
      chosen.push_back(at[last * i / parts]);
    }
  }
  return chosen;
}

std::size_t stall::count_windows(std::vector<std::uintptr_t> places) {
  std::sort(places.begin(), places.end());
  return static_cast<std::size_t>(std::unique(places.begin(), places.end()) - places.begin());
}

}  // namespace stress

namespace lido::detail {

[[gnu::noinline]] void schedule_point() noexcept {
  if (record_in != nullptr) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a name for the caller's place
    record_in->push_back(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  }
  if (++count == stop_at && now == stage::running) {
    change(stage::stopped);
    now.wait(stage::stopped);
  }
}

}  // namespace lido::detail
