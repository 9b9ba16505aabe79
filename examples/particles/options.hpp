/// @file
/// The command line of the particle demo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer.hpp"

namespace particles {

struct options {
  std::vector<answer> answers;
  std::size_t frames = 120;
  std::size_t particles = 200'000;
  std::size_t width = 640;
  std::size_t height = 360;
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  std::size_t every = 4;  ///< number of frames for each PNG
  std::string out = "fountain";
  bool headless = false;
};

/// The options, or the exit status if there is nothing to run: 0 after --help, 2 after a mistake.
struct parsed {
  std::optional<options> wanted;
  int status = 0;
};

parsed parse(int count, char** arguments);

}  // namespace particles
