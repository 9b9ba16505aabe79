/// @file
/// The object that is pooled: a piece of work and the room for its result.
#pragma once

#include <cstddef>

#include "chunk.hpp"
#include "corpus.hpp"
#include "counts.hpp"
#include "scanner.hpp"

namespace demo {

/// Default-initialising a job writes nothing, so what a source costs is its own cost and not the
/// cost of clearing the buffer; `start` clears it.
struct job {
  chunk work;
  std::size_t number;  ///< place in the list of chunks
  double acquired_in;  ///< nanoseconds
  counts result;

  void start(const chunk& piece, std::size_t place, double nanoseconds) noexcept {
    work = piece;
    number = place;
    acquired_in = nanoseconds;
    result.clear();
  }

  void run(const corpus& input) noexcept {
    scan(input.files[work.file].text, work.begin, work.end, result);
  }
};

}  // namespace demo
