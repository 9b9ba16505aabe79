/// @file
/// Shows the pictures on a terminal, in coloured half blocks.
#pragma once

#include <cstddef>
#include <string>

#include "picture/image.hpp"

namespace particles {

/// Returns `columns` x `lines` characters of text, each with two pixels, one above the other: the
/// means of the picture's pixels there.
std::string as_text(const image& picture, std::size_t columns, std::size_t lines);

/// Shows each picture in place of the previous one, and erases the last. Does nothing unless stdout
/// is a terminal and NO_COLOR is not set.
class preview {
 public:
  explicit preview(bool wanted);
  preview(const preview&) = delete;
  preview& operator=(const preview&) = delete;
  ~preview() { clear(); }

  void show(const image& picture);
  void clear();

 private:
  bool on_;
  std::size_t lines_shown_ = 0;
};

}  // namespace particles
