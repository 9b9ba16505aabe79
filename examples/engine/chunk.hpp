/// @file
/// The pieces of the input, one for each job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "corpus.hpp"

namespace demo {

/// The bytes [begin, end) of one file.
struct chunk {
  std::uint32_t file;
  std::size_t begin;
  std::size_t end;
};

/// Cuts every file into pieces of at most `chunk_bytes`, in the order of the corpus. An empty file
/// gives none. Throws input_error if that makes more jobs than the demo can record times of.
std::vector<chunk> cut(const corpus& input, std::size_t chunk_bytes);

}  // namespace demo
