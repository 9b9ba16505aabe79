#include <array>
#include <bit>

#include "../platform.hpp"
#include "system.hpp"

namespace lido::inline v0::detail::platform {

// The loader reports the end of each thread to a callback in this module. A callback registered
// with FlsAlloc would not be suitable: it runs when a fiber is deleted, perhaps in another thread,
// and before the destructors of thread_local objects. The argument is stored in a TLS slot of the
// system, because thread-local variables that a compiler emulates no longer exist by then.
//
// The callback runs under the loader's mutex, so it must neither load a library nor wait for
// another thread to end.
namespace {

using exit_call = void (*)(void*);

/// The TLS slot of the argument. Written before the constructors of this module run.
constinit DWORD exit_slot = TLS_OUT_OF_INDEXES;
/// The function to call. Written before the first thread is armed.
constinit exit_call exit_function = nullptr;

void NTAPI on_loader_event(void* /*module*/, DWORD event, void* process_ends) noexcept {
  if (event == DLL_PROCESS_ATTACH) {
    exit_slot = ::TlsAlloc();
  } else if (exit_slot == TLS_OUT_OF_INDEXES) {
    return;
  } else if (event == DLL_THREAD_DETACH) {
    if (void* const argument = ::TlsGetValue(exit_slot); argument != nullptr) {
      (void)::TlsSetValue(exit_slot, nullptr);
      exit_function(argument);
    }
  } else if (event == DLL_PROCESS_DETACH && process_ends == nullptr) {
    (void)::TlsFree(exit_slot);  // the module is being unloaded
  }
}

}  // namespace

}  // namespace lido::inline v0::detail::platform

// The loader calls the functions in these sections in the order of the section names. The C++
// runtime uses the names up to .CRT$XLF, so it destroys thread_local objects before this function
// is called.
extern "C" {
#if defined(_MSC_VER)
#if defined(_M_IX86)
#pragma comment(linker, "/INCLUDE:__tls_used /INCLUDE:_lido_on_loader_event")
#else
#pragma comment(linker, "/INCLUDE:_tls_used /INCLUDE:lido_on_loader_event")
#endif
#pragma section(".CRT$XLY", long, read)
__declspec(allocate(".CRT$XLY"))
#else
[[gnu::section(".CRT$XLY"), gnu::used]]
#endif
    extern const PIMAGE_TLS_CALLBACK lido_on_loader_event = lido::detail::platform::on_loader_event;
}

namespace lido::inline v0::detail::platform {

bool thread_exit_hook::prepare(void (*function)(void*)) noexcept {
  function_ = function;
  key_ = exit_slot;
  exit_function = function;
  return exit_slot != TLS_OUT_OF_INDEXES;
}

bool thread_exit_hook::arm(void* argument) const noexcept {
  return ::TlsSetValue(static_cast<DWORD>(key_), argument) != 0;
}

void* thread_exit_hook::armed() const noexcept {
  return ::TlsGetValue(static_cast<DWORD>(key_));
}

signal_guard::signal_guard() noexcept = default;

signal_guard::~signal_guard() = default;

// Looks up SetThreadDescription at run time, because versions before Windows 10, version 1607, do
// not have it.
void name_thread(const char* name) noexcept {
  using function = HRESULT(WINAPI*)(HANDLE, const wchar_t*);
  std::array<wchar_t, 16> text{};
  for (std::size_t i = 0; i + 1 < text.size() && name[i] != '\0'; ++i) {
    text[i] = static_cast<wchar_t>(name[i]);
  }
  const HMODULE system = ::GetModuleHandleA("kernel32.dll");
  const auto set = std::bit_cast<function>(::GetProcAddress(system, "SetThreadDescription"));
  if (set != nullptr) {
    (void)set(::GetCurrentThread(), text.data());
  }
}

bool on_fork(void (* /*before*/)(), void (* /*parent*/)(), void (* /*child*/)()) noexcept {
  return true;  // no process forks
}

std::uint32_t process_id() noexcept {
  return ::GetCurrentProcessId();
}

}  // namespace lido::inline v0::detail::platform
