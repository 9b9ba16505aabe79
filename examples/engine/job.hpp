/// @file
/// The pooled object: a piece of work and space for its result.
#pragma once

#include <cstddef>

#include "chunk.hpp"
#include "corpus.hpp"
#include "counts.hpp"
#include "scanner.hpp"

namespace demo {

/// Default-initialising a job writes nothing, so a source's cost does not include clearing the
/// buffer; `start` clears it.
struct job {
  chunk work;
  std::size_t number;  ///< index in the list of chunks
  double acquired_in;  ///< nanoseconds
  counts result;

  void start(const chunk& piece, std::size_t index, double nanoseconds) noexcept {
    work = piece;
    number = index;
    acquired_in = nanoseconds;
    result.clear();
  }

  void run(const corpus& input) noexcept {
    scan(input.files[work.file].text, work.begin, work.end, result);
  }
};

}  // namespace demo
