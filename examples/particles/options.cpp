#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <limits>
#include <thread>

namespace particles {
namespace {

constexpr std::size_t most_births = std::numeric_limits<std::uint32_t>::max() / 4;

void describe(CLI::App& app, options& into, std::string& policy) {
  app.add_option("--policy", policy, "Answer to a full map: tuned, refuse, evict, grow or all")
      ->check(CLI::IsMember({"tuned", "refuse", "evict", "grow", "all"}));
  app.add_option("--frames", into.frames, "Frames to show")->check(CLI::Range(1, 100'000));
  app.add_option("--particles", into.particles, "Alive at once when the fountain runs as usual")
      ->check(CLI::Range(100, 10'000'000));
  app.add_option("--seed", into.seed, "Of all chance: the same seed, the same picture")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", into.threads, "Threads that move the particles")
      ->check(CLI::Range(1, 1024));
  app.add_option("--width", into.width, "Of the pictures, in pixels")->check(CLI::Range(32, 1920));
  app.add_option("--height", into.height, "Of the pictures, in pixels")
      ->check(CLI::Range(32, 1080));
  app.add_option("--every", into.every, "Of so many frames one becomes a PNG")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--out", into.out, "Folder for the pictures; made if it is not there")
      ->check([](const std::string& path) { return path.empty() ? "has no name" : ""; });
}

}  // namespace

parsed parse(int count, char** arguments) {
  CLI::App app("A fountain of particles in a slot map, with four answers to a full map.");
  options wanted;
  std::string policy = "all";
  wanted.threads = std::clamp(std::thread::hardware_concurrency(), 1U, 1024U);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.option_defaults()->always_capture_default();
  describe(app, wanted, policy);
  try {
    app.parse(count, arguments);
    if (wanted.frames * wanted.particles / 20 > most_births) {
      throw CLI::ValidationError("--frames", "too many for so many particles");
    }
  } catch (const CLI::ParseError& problem) {
    return {std::nullopt, app.exit(problem) == 0 ? 0 : 2};
  }
  std::copy_if(all_answers.begin(), all_answers.end(), std::back_inserter(wanted.answers),
               [&](answer one) { return policy == "all" || policy == name_of(one); });
  return {wanted, 0};
}

}  // namespace particles
