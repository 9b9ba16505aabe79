#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#if defined(__ELF__)
#include <link.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

namespace {

// Does not use std::bit_cast, which Emscripten's standard library lacks.
[[nodiscard]] std::uintptr_t bits(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);  // NOLINT(*-reinterpret-cast)
}

/// Returns the difference between the addresses of the code in memory and in its file.
#if defined(__ELF__)

std::uintptr_t moved_by(const void* base) noexcept {
  const bool moves = static_cast<const ElfW(Ehdr)*>(base)->e_type != ET_EXEC;
  return moves ? bits(base) : 0;
}

#elif defined(__APPLE__)

std::uintptr_t moved_by(const void* base) noexcept {
  for (std::uint32_t image = _dyld_image_count(); image-- > 0;) {
    if (_dyld_get_image_header(image) == base) {
      return static_cast<std::uintptr_t>(_dyld_get_image_vmaddr_slide(image));
    }
  }
  return 0;
}

#else

std::uintptr_t moved_by(const void* base) noexcept {
  return bits(base);
}

#endif

}  // namespace

code_position find_code(const void* address) noexcept {
  Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fbase == nullptr) {
    return {};
  }
  return {info.dli_fbase, bits(address) - moved_by(info.dli_fbase)};
}

std::size_t module_path(const void* address, std::span<char> path) noexcept {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return 0;
  }
  const std::string_view name = info.dli_fname;
  // For the program itself, dladdr reports the name with which the program was started. That name
  // need not be a path.
  if (!name.starts_with('/')) {
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    if (length > 0) {
      return static_cast<std::size_t>(length);
    }
  }
  return name.copy(path.data(), path.size());
}

system_names names() noexcept {
#ifdef __APPLE__
  return {"llvm-symbolizer --relative-address -e", "mprotect"};
#else
  return {"addr2line -Cfpie", "mprotect"};
#endif
}

}  // namespace lido::inline v0::detail::platform
