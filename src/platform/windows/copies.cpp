// Lets the copies of the library in one process find one another. Each module that contains a copy
// has a section that consists of the word of that copy. The system lists all modules.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "../platform.hpp"
#include "system.hpp"

namespace {

// Copies of other versions search for this name, so it must never change.
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

/// Returns the word of the copy in `module`; null if the module contains no copy.
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

/// Lists all modules. The list is empty if the system refuses. Requires: the caller holds the
/// loader's mutex, as the list may change otherwise.
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

// The program itself comes first in the list, and is never unloaded. If the program contains a
// copy, that copy decides alone. It therefore need not visit other copies, which may be in the
// middle of being loaded. All other modules are loaded under the loader's mutex, so that mutex is
// held when a copy in such a module calls this function.
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
