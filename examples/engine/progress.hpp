/// @file
/// Shows the demo's progress on stderr: a bar on a terminal, otherwise one plain line a phase.
#pragma once

#include <cstddef>
#include <string>

namespace demo {

/// A progress display. Not thread-safe. The bar's line is erased when a phase ends, however it
/// ends, so that the terminal never shows half a line. Colours only without NO_COLOR.
class progress {
 public:
  progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  void phase(std::string title);
  void at(std::size_t done, std::size_t all);
  void clear() noexcept;

 private:
  void draw(std::size_t percent);

  bool terminal_;
  bool colour_;
  std::string title_;
  std::size_t drawn_percent_;
};

}  // namespace demo
