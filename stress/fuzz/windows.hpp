/// @file
/// Something to do in the middle of an operation of the library, at the place that an input
/// chooses.
#pragma once

#include <functional>

namespace fuzz {

/// What to do in a window, which is a schedule point before an access of the library. Only a
/// program with LIDO_FUZZ_WINDOWS has windows; in others nothing is ever called. Empty: nothing.
void on_window(std::function<void()> action);

/// The action is to run once, in the `count`-th window from now; 0: in none.
void arm_window(unsigned count) noexcept;

/// Until its end no action runs, e.g. because the thread holds a mutex of the library.
class closed_windows {
 public:
  closed_windows() noexcept;
  closed_windows(const closed_windows&) = delete;
  closed_windows& operator=(const closed_windows&) = delete;
  ~closed_windows();
};

}  // namespace fuzz
