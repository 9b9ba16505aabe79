#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "../platform.hpp"

namespace lido::detail::platform {

namespace {

[[nodiscard]] std::size_t length(ssize_t result) noexcept {
  return static_cast<std::size_t>(std::max<ssize_t>(result, 0));
}

}  // namespace

std::uint32_t thread_id() noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): older C libraries have no function for it
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

std::size_t thread_name(std::uint32_t id, std::span<char> name) noexcept {
  std::array<char, 64> path{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): allocates nothing
  (void)std::snprintf(path.data(), path.size(), "/proc/self/task/%u/comm", id);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX has no other
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return 0;
  }
  const std::string_view text(name.data(), length(::read(file, name.data(), name.size())));
  ::close(file);
  return std::min(text.find('\n'), text.size());  // the system ends a name with a line break
}

code_position find_code(const void* address) noexcept {
  Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0) {
    return {};
  }
  const bool moves = static_cast<const ElfW(Ehdr)*>(info.dli_fbase)->e_type != ET_EXEC;
  return {info.dli_fbase, std::bit_cast<std::uintptr_t>(address) -
                              (moves ? std::bit_cast<std::uintptr_t>(info.dli_fbase) : 0)};
}

std::size_t module_path(const void* address, std::span<char> path) noexcept {
  Dl_info info{};
  if (::dladdr(address, &info) == 0) {
    return 0;
  }
  // The program itself is known by the name it was called by, which need not be a path.
  if (info.dli_fname[0] != '/') {
    return length(::readlink("/proc/self/exe", path.data(), path.size()));
  }
  const std::string_view name = info.dli_fname;
  return name.copy(path.data(), path.size());
}

}  // namespace lido::detail::platform
