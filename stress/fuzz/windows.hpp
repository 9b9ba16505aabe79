/// @file
/// An action in the middle of an operation of the library, at a point that the input chooses.
#pragma once

#include <functional>

namespace fuzz {

/// Sets the action of a window, which is a schedule point before an access of the library; an empty
/// one does nothing. Only a program with LIDO_FUZZ_WINDOWS has windows; in others no action is ever
/// called.
void on_window(std::function<void()> action);

/// Lets the action run once, in the `count`-th window from now; 0: in none.
void arm_window(unsigned count) noexcept;

/// Keeps actions from running during its lifetime, e.g. because the thread holds a mutex of the
/// library.
class closed_windows {
 public:
  closed_windows() noexcept;
  closed_windows(const closed_windows&) = delete;
  closed_windows& operator=(const closed_windows&) = delete;
  ~closed_windows();
};

}  // namespace fuzz
