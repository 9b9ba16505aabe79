/// @file
/// The pictures on a terminal, in coloured half blocks.
#pragma once

#include <cstddef>
#include <string>

#include "picture/image.hpp"

namespace particles {

/// `columns` x `lines` characters of text, each two pixels on top of one another: the mean of what
/// lies below them.
std::string as_text(const image& picture, std::size_t columns, std::size_t lines);

/// Shows pictures one over the other, and erases the last. Does nothing unless stdout is a terminal
/// and NO_COLOR is not set.
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
