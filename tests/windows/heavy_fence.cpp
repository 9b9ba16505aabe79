// Two imports of the library are replaced by functions of this file, which linkers take before what
// the import libraries define. So it is the library as it ships.
#include "heavy_fence.hpp"

// The import itself must not be declared.
#define WIN32_LEAN_AND_MEAN
#define _KERNEL32_
#include <windows.h>
// after it
#include <winternl.h>

#include <bit>
#include <cstdlib>
#include <cstring>

extern "C" NTSTATUS NTAPI LdrGetProcedureAddress(HMODULE, STRING*, ULONG, void**);

namespace {

using fence_call = void(WINAPI*)();

constinit fence_call fence = nullptr;
constinit bool hides_wine = false;

/// GetProcAddress, which this file replaces.
[[nodiscard]] FARPROC find(HMODULE module, const char* name) {
  void* found = nullptr;
  STRING text{};
  ULONG number = 0;
  if (std::bit_cast<ULONG_PTR>(name) >> 16U == 0) {
    number = static_cast<ULONG>(std::bit_cast<ULONG_PTR>(name));
  } else {
    text.Buffer = const_cast<char*>(name);
    text.Length = static_cast<USHORT>(std::strlen(name));
    text.MaximumLength = static_cast<USHORT>(text.Length + 1);
  }
  const NTSTATUS status =
      ::LdrGetProcedureAddress(module, number == 0 ? &text : nullptr, number, &found);
  return status >= 0 ? std::bit_cast<FARPROC>(found) : nullptr;
}

FARPROC WINAPI find_unless_hidden(HMODULE module, const char* name) {
  const bool is_hidden = hides_wine && std::bit_cast<ULONG_PTR>(name) >> 16U != 0 &&
                         std::strcmp(name, "wine_get_version") == 0;
  return is_hidden ? nullptr : find(module, name);
}

void WINAPI use_chosen_fence() {
  fence();
}

/// A system call of Linux, from code for Windows.
[[nodiscard]] long call_membarrier(long command) {
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(324L), "D"(command), "S"(0L), "d"(0L)
               : "rcx", "r11", "memory");
  return result;
}

void WINAPI fence_of_linux() {
  constexpr long private_expedited = 8;
  if (call_membarrier(private_expedited) != 0) {
    std::abort();
  }
}

}  // namespace

extern "C" {
extern fence_call __imp_FlushProcessWriteBuffers;
fence_call __imp_FlushProcessWriteBuffers = use_chosen_fence;
extern FARPROC(WINAPI* __imp_GetProcAddress)(HMODULE, const char*);
FARPROC(WINAPI* __imp_GetProcAddress)(HMODULE, const char*) = find_unless_hidden;
}

namespace lido_test {

const char* choose_heavy_fence(heavy_fence kind) {
  const HMODULE kernel = ::GetModuleHandleA("kernel32.dll");
  const bool is_wine = find(::GetModuleHandleA("ntdll.dll"), "wine_get_version") != nullptr;
  hides_wine = true;
  if (kind == heavy_fence::none) {
    fence = [] {};
  } else if (!is_wine) {
    fence = std::bit_cast<fence_call>(find(kernel, "FlushProcessWriteBuffers"));
  } else {
    constexpr long register_private_expedited = 16;
    if (call_membarrier(register_private_expedited) != 0) {
      return "Linux refuses membarrier(2)";
    }
    fence = fence_of_linux;
  }
  return nullptr;
}

}  // namespace lido_test
