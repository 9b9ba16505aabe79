#include <algorithm>
#include <bit>

#include "../platform.hpp"
#include "system.hpp"

namespace lido::inline v0::detail::platform {

namespace {

[[nodiscard]] HMODULE module_of(const void* address) noexcept {
  HMODULE module = nullptr;
  const BOOL found = ::GetModuleHandleExA(
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
      static_cast<const char*>(address), &module);
  return address != nullptr && found != 0 ? module : nullptr;
}

}  // namespace

std::uint32_t thread_id() noexcept {
  return ::GetCurrentThreadId();
}

// Looks up GetThreadDescription at run time, because versions before Windows 10, version 1607, do
// not have it.
std::size_t thread_name(std::uint32_t id, std::span<char> name) noexcept {
  using function = HRESULT(WINAPI*)(HANDLE, wchar_t**);
  const HMODULE system = ::GetModuleHandleA("kernel32.dll");
  const auto get = std::bit_cast<function>(::GetProcAddress(system, "GetThreadDescription"));
  const HANDLE thread = ::OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, id);
  if (thread == nullptr) {
    return 0;
  }
  wchar_t* text = nullptr;
  const int size = static_cast<int>(name.size());
  int length = 0;
  if (get != nullptr && get(thread, &text) >= 0 && text != nullptr) {
    // The conversion fails if the result does not fit. So the name is shortened until it fits, by
    // whole UTF-16 characters.
    for (int left = (std::min)(::lstrlenW(text), size); length == 0 && left > 0; --left) {
      const bool cuts_pair = IS_HIGH_SURROGATE(text[left - 1]);
      length = cuts_pair ? 0
                         : ::WideCharToMultiByte(CP_UTF8, 0, text, left, name.data(), size, nullptr,
                                                 nullptr);
    }
    (void)::LocalFree(text);
  }
  (void)::CloseHandle(thread);
  return static_cast<std::size_t>(length);
}

// The offset is relative to the start of the module, as in crash dumps.
code_position find_code(const void* address) noexcept {
  const HMODULE module = module_of(address);
  if (module == nullptr) {
    return {};
  }
  return {module, std::bit_cast<std::uintptr_t>(address) - std::bit_cast<std::uintptr_t>(module)};
}

std::size_t module_path(const void* address, std::span<char> path) noexcept {
  const HMODULE module = module_of(address);
  if (module == nullptr) {
    return 0;
  }
  const std::size_t length =
      ::GetModuleFileNameA(module, path.data(), static_cast<DWORD>(path.size()));
  std::replace(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length), '\\', '/');
  return length;
}

system_names names() noexcept {
  return {"llvm-symbolizer --relative-address -e", "VirtualAlloc"};
}

}  // namespace lido::inline v0::detail::platform
