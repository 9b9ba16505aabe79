#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

std::uint32_t thread_id() noexcept {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

std::size_t thread_name(std::uint32_t id, std::span<char> name) noexcept {
  std::array<char, 64> path{};
  (void)std::snprintf(path.data(), path.size(), "/proc/self/task/%u/comm", id);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return 0;
  }
  const ssize_t length = std::max<ssize_t>(::read(file, name.data(), name.size()), 0);
  ::close(file);
  const std::string_view text(name.data(), static_cast<std::size_t>(length));
  return std::min(text.find('\n'), text.size());  // the system terminates a name with a line break
}

}  // namespace lido::inline v0::detail::platform
