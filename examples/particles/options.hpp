/// @file
/// The command line of the particle demo.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace particles {

/// The four answers to a full map.
enum class answer : std::uint8_t { tuned, refuse, evict, grow };
inline constexpr std::array all_answers{answer::tuned, answer::refuse, answer::evict, answer::grow};

/// Returns the name that the command line has for an answer.
constexpr std::string_view name_of(answer which) noexcept {
  return std::array{"tuned", "refuse", "evict", "grow"}[static_cast<std::size_t>(which)];
}
constexpr std::string_view meaning_of(answer which) noexcept {
  return std::array{"capacity is enough", "do not create", "replace the least visible",
                    "grow and contract"}[static_cast<std::size_t>(which)];
}

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
};

/// The options, or the exit status if there is nothing to run: 0 after --help, 2 after a mistake.
struct parsed {
  std::optional<options> wanted;
  int status = 0;
};

parsed parse(int count, char** arguments);

}  // namespace particles
