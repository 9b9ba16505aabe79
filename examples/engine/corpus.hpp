/// @file
/// The input of the engine: every regular file below a folder, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "progress.hpp"

namespace demo {

/// Thrown if the folder cannot be used as input. `what()` is a whole sentence for the user.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct source_file {
  std::string text;
  std::uint32_t type = 0;  ///< index into corpus::types
};

struct corpus {
  std::vector<source_file> files;  ///< sorted by path, so that every run sees the same order
  std::vector<std::string> types;  ///< file extensions, "(none)" for files without one
  std::uint64_t bytes = 0;
  std::size_t skipped_files = 0;    ///< could not be opened or read
  std::size_t skipped_folders = 0;  ///< could not be listed
  std::size_t left_out = 0;         ///< past the limit, not read
  bool cut = false;                 ///< the last file was cut at the limit
};

/// Reads at most `limit` bytes. Symbolic links below `root` are not followed. Throws input_error if
/// `root` is no readable folder or contains no readable text.
corpus read_corpus(const std::filesystem::path& root, std::uint64_t limit, progress& shown);

}  // namespace demo
