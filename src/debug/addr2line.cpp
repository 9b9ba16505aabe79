#include "addr2line.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX has more than <csignal>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <span>

#include "report_text.hpp"

extern char** environ;  // NOLINT: POSIX wants it declared by its user

namespace lido::detail {

namespace {

using std::chrono::steady_clock;

/// How long a program may take. For all it prints: one that goes on and on is not waited for.
constexpr std::chrono::seconds most_of_a_run{5};

/// Whether there is more to read before `end`, or it is known that there is not. A signal, such as
/// that of a profiler's timer, is neither.
bool has_more(int from, steady_clock::time_point end) noexcept {
  pollfd waiting{from, POLLIN, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) {
      return false;
    }
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready >= 0 || errno != EINTR) {
      return ready > 0;
    }
  }
}

ssize_t read_some(int from, std::span<char> out) noexcept {
  ssize_t got = 0;
  do {
    got = ::read(from, out.data(), out.size());
  } while (got < 0 && errno == EINTR);
  return got;
}

/// What a program prints, up to a length. Blocks until it ends, or most_of_a_run does.
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
    // Both allocate. Without them it would print for our own users.
    const bool redirected =
        ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
        ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
    const std::array<const char*, 8> arguments{program, "-C", "-f",    "-i",
                                               "-e",    path, address, nullptr};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execv is older than const
    const auto* const argv = const_cast<char* const*>(arguments.data());
    const bool started =
        redirected && ::posix_spawnp(&child, program, &actions, nullptr, argv, environ) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    return started;
  }

  void read_all(int from) noexcept {
    const auto end = steady_clock::now() + most_of_a_run;
    while (size_ < text_.size() && has_more(from, end)) {
      const ssize_t got = read_some(from, std::span(text_).subspan(size_));
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
  report_line address;
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
  // With rights that its caller lacks a process must not run what the caller's environment names.
  if (*program == '\0' || ::getauxval(AT_SECURE) != 0) {
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
