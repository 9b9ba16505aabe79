// How copies of the library in one process find one another. In the module of each, the word has a
// section to itself; the system lists all modules.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "../platform.hpp"
#include "system.hpp"

namespace {

// Copies of other versions look for this name, so it stays as it is.
#define LIDO_COPY_SECTION ".lido"

#if defined(_MSC_VER)
#pragma section(LIDO_COPY_SECTION, read, write)
#define LIDO_IN_COPY_SECTION __declspec(allocate(LIDO_COPY_SECTION))
#else
#define LIDO_IN_COPY_SECTION __attribute__((section(LIDO_COPY_SECTION), used))
#endif
alignas(std::uintptr_t) LIDO_IN_COPY_SECTION
    constinit std::array<std::byte, sizeof(std::uintptr_t)> copy_word{};

}  // namespace

namespace lido::inline v0::detail::platform {

namespace {

/// Returns the module that contains this copy.
[[nodiscard]] HMODULE own_module() noexcept {
  HMODULE module = nullptr;
  (void)::GetModuleHandleExA(
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
      static_cast<const char*>(static_cast<const void*>(copy_word.data())), &module);
  return module;
}

/// Returns the word of the copy in a module; null if there is none.
[[nodiscard]] void* word_in(HMODULE module) noexcept {
  auto* const start = static_cast<std::byte*>(static_cast<void*>(module));
  IMAGE_DOS_HEADER first{};
  std::memcpy(&first, start, sizeof(first));
  IMAGE_NT_HEADERS header{};
  std::memcpy(&header, start + first.e_lfanew, sizeof(header));
  const std::byte* at = start + first.e_lfanew + offsetof(IMAGE_NT_HEADERS, OptionalHeader) +
                        header.FileHeader.SizeOfOptionalHeader;
  for (WORD i = 0; i < header.FileHeader.NumberOfSections; ++i) {
    IMAGE_SECTION_HEADER section{};
    std::memcpy(&section, at, sizeof(section));
    at += sizeof(section);
    constexpr std::string_view wanted = LIDO_COPY_SECTION;
    const auto* const name = static_cast<const char*>(static_cast<const void*>(section.Name));
    if (std::string_view(name, ::strnlen(name, sizeof(section.Name))) == wanted) {
      return start + section.VirtualAddress;
    }
  }
  return nullptr;
}

struct module_list {
  HMODULE* modules = nullptr;
  std::size_t size = 0;
};

/// Lists all modules, if permitted. Requires the loader's mutex, or the list may change.
[[nodiscard]] module_list list_modules() noexcept {
  DWORD bytes = 0;
  DWORD needed = 1024 * sizeof(HMODULE);
  void* memory = nullptr;
  while (bytes < needed) {
    if (memory != nullptr) {
      unmap_zeros(memory, bytes);
    }
    bytes = needed;
    memory = map_zeros(bytes);
    if (memory == nullptr ||
        ::EnumProcessModules(::GetCurrentProcess(), static_cast<HMODULE*>(memory), bytes,
                             &needed) == 0) {
      needed = 0;
    }
  }
  return {static_cast<HMODULE*>(memory), needed / sizeof(HMODULE)};
}

}  // namespace

void* own_copy_word() noexcept {
  return copy_word.data();
}

// The program comes first in the list, and is never unloaded. So if it has a copy, that one decides
// alone, and need not visit others, which may be loaded at the same time. All others are loaded
// under the loader's mutex, which their callers hold.
void visit_copies(void (*visit)(void* word, void* context), void* context) noexcept {
  if (own_module() == ::GetModuleHandleA(nullptr)) {
    visit(own_copy_word(), context);
    return;
  }
  const module_list list = list_modules();
  for (std::size_t i = 0; i < list.size; ++i) {
    if (void* const word = word_in(list.modules[i]); word != nullptr) {
      visit(word, context);
    }
  }
  if (list.modules != nullptr) {
    unmap_zeros(list.modules, 0);
  }
}

}  // namespace lido::inline v0::detail::platform
