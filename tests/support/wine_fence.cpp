// For tests under Wine on Linux. Lido does not trust Wine's FlushProcessWriteBuffers, which many
// versions have without a body. Here membarrier(2) of the kernel below takes its place, and the
// program does not say that it runs under Wine.
//
// Wine's processes are processes of Linux, so a system call of Linux reaches the kernel.
#include <windows.h>
// after it
#include <winternl.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" NTSTATUS NTAPI LdrGetProcedureAddress(HMODULE module, const ANSI_STRING* name,
                                                 ULONG number, void** found);

namespace {

long membarrier(long command) noexcept {
  constexpr long number = 324;
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(command), "S"(0L), "d"(0L)
               : "rcx", "r11", "memory");
  return result;
}

void WINAPI fence_of_linux() noexcept {
  constexpr long private_expedited = 8;
  constexpr long register_private_expedited = 16;
  static const long refused = membarrier(register_private_expedited);
  if (refused != 0 || membarrier(private_expedited) != 0) {
    (void)std::fputs("membarrier(2) is refused, which these tests need under Wine\n", stderr);
    std::_Exit(77);
  }
}

// What GetProcAddress calls itself.
FARPROC WINAPI find_all_but_wine(HMODULE module, const char* name) {
  const auto number = reinterpret_cast<ULONG_PTR>(name);
  ANSI_STRING text{};
  if (number > 0xFFFF) {
    if (std::strcmp(name, "wine_get_version") == 0) {
      return nullptr;
    }
    ::RtlInitAnsiString(&text, name);
  }
  void* found = nullptr;
  (void)::LdrGetProcedureAddress(module, text.Buffer != nullptr ? &text : nullptr,
                                 static_cast<ULONG>(number), &found);
  return std::bit_cast<FARPROC>(found);
}

}  // namespace

// What the linker makes of calls of functions in DLLs.
extern "C" {
void(WINAPI* __imp_FlushProcessWriteBuffers)() = fence_of_linux;
FARPROC(WINAPI* __imp_GetProcAddress)(HMODULE, const char*) = find_all_but_wine;
}
