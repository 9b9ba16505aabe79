#include "addr2line.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX has more than <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include "report_text.hpp"

extern char** environ;  // NOLINT: POSIX wants it declared by its user

namespace lido::detail {

namespace {

/// What a program prints, up to a length. Blocks until it ends, or for five seconds.
class output_of {
 public:
  explicit output_of(const char* program, const char* path, const char* address) noexcept {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return;
    }
    pid_t child = 0;
    const bool started = start(child, ends[1], program, path, address);
    ::close(ends[1]);
    if (started) {
      read_all(ends[0]);
    }
    ::close(ends[0]);
    if (started) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  static bool start(pid_t& child, int out, const char* program, const char* path,
                    const char* address) noexcept {
    posix_spawn_file_actions_t actions;
    if (::posix_spawn_file_actions_init(&actions) != 0) {
      return false;
    }
    ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const std::array<const char*, 8> arguments{program, "-C", "-f",    "-i",
                                               "-e",    path, address, nullptr};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execv is older than const
    const auto* const argv = const_cast<char* const*>(arguments.data());
    const bool started = ::posix_spawnp(&child, program, &actions, nullptr, argv, environ) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    return started;
  }

  void read_all(int from) noexcept {
    constexpr int patience = 5000;  // milliseconds
    pollfd waiting{from, POLLIN, 0};
    while (size_ < text_.size() && ::poll(&waiting, 1, patience) > 0) {
      const ssize_t got = ::read(from, text_.data() + size_, text_.size() - size_);
      if (got <= 0) {
        return;
      }
      size_ += static_cast<std::size_t>(got);
    }
  }

  std::array<char, 4096> text_{};
  std::size_t size_ = 0;
};

std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool is_ours(std::string_view file) noexcept {
  constexpr std::array<std::string_view, 5> folders{"lido/debug/", "lido/magazine/", "lido/object/",
                                                    "lido/resource/", "lido/testing/"};
  return std::any_of(folders.begin(), folders.end(), [file](std::string_view folder) {
    return file.find(folder) != std::string_view::npos;
  });
}

bool is_known(std::string_view what) noexcept {
  return !what.empty() && what[0] != '?';
}

void copy(std::string_view from, std::span<char> to) noexcept {
  const std::size_t size = std::min(from.size(), to.size() - 1);
  std::copy_n(from.begin(), size, to.begin());
}

/// What `program` says of one address.
source_line ask(const char* program, const char* path, std::uintptr_t offset) noexcept {
  report_text address;
  address.hex(offset) << std::string_view("\0", 1);
  const output_of found(program, path, address.view().data());
  std::string_view rest = found.text();
  std::string_view function;
  // Pairs of lines, the innermost of inlined functions first.
  while (!rest.empty()) {
    function = take_line(rest);
    const std::string_view file = take_line(rest);
    if (is_known(file) && !is_ours(file)) {
      const bool has_line = file.find(":?") == std::string_view::npos;
      return {is_known(function) ? function : "",
              has_line ? file.substr(0, file.find(" (disc")) : ""};
    }
  }
  return {is_known(function) ? function : "", ""};
}

}  // namespace

source_line::source_line(std::string_view function, std::string_view file) noexcept {
  copy(function, function_);
  copy(file, file_);
}

source_line find_line(const char* path, std::uintptr_t offset) noexcept {
  const char* const chosen = std::getenv("LIDO_ADDR2LINE");  // NOLINT(concurrency-mt-unsafe)
  const char* const program = chosen != nullptr ? chosen : "addr2line";
  if (*program == '\0') {
    return {};
  }
  const source_line there = ask(program, path, offset);
  if (there.file_known()) {
    return there;
  }
  // Clang lets the ranges of inlined functions begin behind the instruction that names the place.
  const source_line behind = ask(program, path, offset + 1);
  return behind.file_known() ? behind : there;
}

}  // namespace lido::detail
