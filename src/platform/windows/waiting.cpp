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

// Wine has the function that `heavy_fence` calls, but in many versions it does nothing.
bool register_heavy_fence() noexcept {
  const HMODULE system = ::GetModuleHandleA("ntdll.dll");
  return system != nullptr && ::GetProcAddress(system, "wine_get_version") == nullptr;
}

bool heavy_fence() noexcept {
  ::FlushProcessWriteBuffers();
  return true;
}

// Static objects of a DLL are destroyed after the system has ended all threads but the caller.
bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t longest = INFINITE - 1;
  const bool is_never = end == (std::numeric_limits<std::int64_t>::max)();
  const std::int64_t left = is_never ? 1 : end - now();
  if (left <= 0 || ::RtlDllShutdownInProgress() != 0) {
    return false;
  }
  // Rounded up, or the last fraction of a millisecond would be a busy wait.
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

// Not by std::this_thread::sleep_for, which MinGW rounds down to nothing. Such a timer takes half a
// millisecond, and Sleep(1) up to sixteen. Windows before 10, version 1803, has none.
void nap(std::uint32_t microseconds) noexcept {
  constexpr DWORD high_resolution = 2;  // CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
  const HANDLE timer =
      ::CreateWaitableTimerExW(nullptr, nullptr, high_resolution, SYNCHRONIZE | TIMER_MODIFY_STATE);
  LARGE_INTEGER time{};
  time.QuadPart = -10 * static_cast<LONGLONG>(microseconds);  // from now, in units of 100 ns
  if (timer == nullptr || ::SetWaitableTimer(timer, &time, 0, nullptr, nullptr, FALSE) == 0 ||
      ::WaitForSingleObject(timer, INFINITE) != WAIT_OBJECT_0) {
    ::Sleep((microseconds + 999) / 1000);
  }
  if (timer != nullptr) {
    (void)::CloseHandle(timer);
  }
}

}  // namespace lido::inline v0::detail::platform
