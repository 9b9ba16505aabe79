#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace demo {
namespace {

constexpr std::string_view erase_line = "\r\x1b[K";
constexpr std::size_t nothing_drawn = 101;  // no percentage

/// Returns whether stderr is a terminal that can move its cursor: "TERM=dumb" means that it cannot.
bool stderr_is_terminal() {
  const char* kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): before any thread
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool colour_wanted() {
  const char* refused = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): as above
  return refused == nullptr || *refused == '\0';
}

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void write_raw(std::string_view text) noexcept {
  // Failing to write a progress bar is no reason to stop.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// Handles Ctrl-C in the middle of a bar: erases it, then dies of the signal as if uncaught.
extern "C" void erase_and_die(int signal_number) {
  write_raw(erase_line);
  static_cast<void>(::raise(signal_number));
}

void erase_bar_on(int signal_number) {
  struct sigaction action {};
  action.sa_handler = erase_and_die;  // NOLINT(cppcoreguidelines-pro-type-union-access)
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(signal_number, &action, nullptr);
}

}  // namespace

progress::progress()
    : terminal_(stderr_is_terminal()), colour_(colour_wanted()), drawn_percent_(nothing_drawn) {
  if (terminal_) {
    erase_bar_on(SIGINT);
    erase_bar_on(SIGTERM);
  }
}

progress::~progress() {
  clear();
}

void progress::phase(std::string title) {
  clear();
  title_ = std::move(title);
  if (terminal_) {
    draw(0);
  } else {
    fmt::print(stderr, "{}\n", title_);
  }
}

void progress::at(std::size_t done, std::size_t all) {
  const std::size_t percent = all == 0 ? 100 : done * 100 / all;
  if (terminal_ && percent != drawn_percent_) {
    draw(percent);
  }
}

void progress::clear() noexcept {
  if (terminal_ && drawn_percent_ != nothing_drawn) {
    write_raw(erase_line);
    drawn_percent_ = nothing_drawn;
  }
}

/// Draws a line one column shorter than the terminal: a line that wraps cannot be erased.
void progress::draw(std::size_t percent) {
  const std::size_t room = terminal_width() - 1;
  const std::size_t bar = std::min<std::size_t>(30, room / 3);
  const std::size_t filled = bar * percent / 100;
  const std::size_t title_room = room - std::min(room, bar + 8);
  const std::string line =
      fmt::format("{}{}{}{}{} {:>3} % {}", erase_line, colour_ ? "\x1b[36m" : "",
                  std::string(filled, '#'), std::string(bar - filled, '.'),
                  colour_ ? "\x1b[0m" : "", percent, title_.substr(0, title_room));
  write_raw(line);
  drawn_percent_ = percent;
}

}  // namespace demo
