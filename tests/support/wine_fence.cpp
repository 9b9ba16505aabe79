// For tests under Wine on Linux. Lido does not trust Wine's FlushProcessWriteBuffers, which does
// nothing in many versions. Here the program conceals that it runs under Wine, and membarrier(2) of
// Linux replaces that function. If Linux refuses membarrier(2), nothing changes, and pools have
// locked caches.
//
// Functions in this file replace two imports of the library. Linkers prefer them to the functions
// in the import libraries. So the library is tested as it is shipped.
#include "wine_fence.hpp"

// The imports themselves must not be declared.
#define WIN32_LEAN_AND_MEAN
#define _KERNEL32_
#include <windows.h>
// must come after windows.h
#include <winternl.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>

extern "C" NTSTATUS NTAPI LdrGetProcedureAddress(HMODULE, STRING*, ULONG, void**);

namespace {

using fence_call = void(WINAPI*)();

/// Does what GetProcAddress does.
[[nodiscard]] FARPROC find(HMODULE module, const char* name) {
  const auto number = std::bit_cast<ULONG_PTR>(name);
  const bool is_name = number > 0xFFFF;
  STRING text{};
  if (is_name) {
    text.Buffer = const_cast<char*>(name);
    text.Length = static_cast<USHORT>(std::strlen(name));
    text.MaximumLength = static_cast<USHORT>(text.Length + 1);
  }
  void* found = nullptr;
  const NTSTATUS status = ::LdrGetProcedureAddress(
      module, is_name ? &text : nullptr, is_name ? 0 : static_cast<ULONG>(number), &found);
  return status >= 0 ? std::bit_cast<FARPROC>(found) : nullptr;
}

/// Makes a system call of Linux. Processes of Wine are processes of Linux, so the call reaches the
/// kernel.
[[nodiscard]] long call_membarrier(long command) {
  constexpr long number = 324;
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(command), "S"(0L), "d"(0L)
               : "rcx", "r11", "memory");
  return result;
}

void WINAPI fence_of_linux() {
  constexpr long private_expedited = 8;
  if (call_membarrier(private_expedited) != 0) {
    std::abort();
  }
}

[[nodiscard]] bool runs_under_wine() {
  return find(::GetModuleHandleA("ntdll.dll"), "wine_get_version") != nullptr;
}

[[nodiscard]] bool register_fence_of_linux() {
  constexpr long register_private_expedited = 16;
  return call_membarrier(register_private_expedited) == 0;
}

FARPROC WINAPI find_all_but_wine(HMODULE module, const char* name) {
  const bool asks_for_wine =
      std::bit_cast<ULONG_PTR>(name) > 0xFFFF && std::strcmp(name, "wine_get_version") == 0;
  return asks_for_wine && register_fence_of_linux() ? nullptr : find(module, name);
}

[[nodiscard]] fence_call find_real_fence() {
  return runs_under_wine() ? fence_of_linux
                           : std::bit_cast<fence_call>(find(::GetModuleHandleA("kernel32.dll"),
                                                            "FlushProcessWriteBuffers"));
}

constinit std::atomic<fence_call> chosen{nullptr};

void WINAPI use_chosen_fence() {
  if (chosen.load() == nullptr) {
    chosen = find_real_fence();
  }
  chosen.load()();
}

}  // namespace

// The names by which the linker finds functions in DLLs.
extern "C" {
extern fence_call __imp_FlushProcessWriteBuffers;
fence_call __imp_FlushProcessWriteBuffers = use_chosen_fence;
extern FARPROC(WINAPI* __imp_GetProcAddress)(HMODULE, const char*);
FARPROC(WINAPI* __imp_GetProcAddress)(HMODULE, const char*) = find_all_but_wine;
}

namespace lido::test {

bool choose_heavy_fence(heavy_fence kind) noexcept {
  if (runs_under_wine() && !register_fence_of_linux()) {
    return false;
  }
  chosen = kind == heavy_fence::none ? [] {} : find_real_fence();
  return true;
}

}  // namespace lido::test
