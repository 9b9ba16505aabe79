#include <algorithm>
#include <chrono>
#include <limits>

#include "../platform.hpp"
#include "system.hpp"

extern "C" BOOLEAN NTAPI RtlDllShutdownInProgress();

namespace lido::inline v0::detail::platform {

namespace {

[[nodiscard]] std::int64_t now() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// Wine has the function that `heavy_fence` calls, but in many versions of Wine, the function does
// nothing.
bool register_heavy_fence() noexcept {
  const HMODULE system = ::GetModuleHandleA("ntdll.dll");
  return system != nullptr && ::GetProcAddress(system, "wine_get_version") == nullptr;
}

bool heavy_fence() noexcept {
  ::FlushProcessWriteBuffers();
  return true;
}

// When a process ends, static objects of a DLL are destroyed after the system has ended all threads
// except the calling one. No thread could wake the caller then, so this function does not sleep.
bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t longest = INFINITE - 1;
  const bool is_never = end == (std::numeric_limits<std::int64_t>::max)();
  const std::int64_t left = is_never ? 1 : end - now();
  if (left <= 0 || ::RtlDllShutdownInProgress() != 0) {
    return false;
  }
  // Rounded up: otherwise the time would be 0 in the last fraction of a millisecond, and the caller
  // would spin.
  const std::int64_t milliseconds = (left - 1) / millisecond + 1;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the system only reads it
  (void)::WaitOnAddress(
      const_cast<void*>(word), &expected, sizeof(expected),
      is_never ? INFINITE : static_cast<DWORD>((std::min)(milliseconds, longest)));
  return is_never || now() < end;
}

void unpark(const void* word) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the system uses only the address
  ::WakeByAddressSingle(const_cast<void*>(word));
}

// Does not use std::this_thread::sleep_for, since MinGW rounds the time down to 0. A
// high-resolution timer takes half a millisecond, and Sleep(1) takes up to sixteen. Windows has no
// such timers before Windows 10, version 1803.
void nap(std::uint32_t microseconds) noexcept {
  constexpr DWORD high_resolution = 2;  // CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
  const HANDLE timer =
      ::CreateWaitableTimerExW(nullptr, nullptr, high_resolution, SYNCHRONIZE | TIMER_MODIFY_STATE);
  LARGE_INTEGER time{};
  time.QuadPart = -10 * static_cast<LONGLONG>(microseconds);  // relative to now, in units of 100 ns
  if (timer == nullptr || ::SetWaitableTimer(timer, &time, 0, nullptr, nullptr, FALSE) == 0 ||
      ::WaitForSingleObject(timer, INFINITE) != WAIT_OBJECT_0) {
    ::Sleep((microseconds + 999) / 1000);
  }
  if (timer != nullptr) {
    (void)::CloseHandle(timer);
  }
}

}  // namespace lido::inline v0::detail::platform
