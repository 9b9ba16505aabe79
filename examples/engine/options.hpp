/// @file
/// The command line of the demo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace demo {

struct options {
  std::string path;
  std::size_t workers = 0;
  std::size_t chunk_bytes = 16384;
  std::size_t jobs = 128;
  std::optional<std::size_t> drain;  ///< half of the jobs by default
  std::size_t repetitions = 5;
  std::uint64_t seed = 1;
  std::uint64_t limit_mib = 256;
};

/// The options, or the exit status if there is nothing to run: 0 after --help, 2 after a mistake.
struct parsed {
  std::optional<options> wanted;
  int status = 0;
};

parsed parse(int count, char** arguments);

}  // namespace demo
