#include "report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace particles {

void print_plan(const options& wanted, const demand& load) {
  fmt::print("Fountain: {} particles, {} frames of {}x{}, seed {}, {} threads\n", wanted.particles,
             wanted.frames, wanted.width, wanted.height, wanted.seed, wanted.threads);
  fmt::print("  {} particles are asked for; with room for all, {} are alive at the peak\n\n",
             load.total(), load.peak());
  fmt::print("  {:<7} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>15}   {:>9} {:>7} {:>7}\n",
             "policy", "when the pool is full", "born", "refused", "died", "evicted", "alive",
             "most", "capacity", "frames/s", "sim ms", "draw ms");
}

void print_showing(const showing& one, const options& wanted) {
  const tally& sums = one.counted;
  const auto frames = static_cast<double>(wanted.frames);
  const std::string capacity = one.least_capacity == one.most_capacity
                                   ? fmt::format("{}", one.most_capacity)
                                   : fmt::format("{}..{}", one.least_capacity, one.most_capacity);
  fmt::print(
      "  {:<7} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>15}   {:>9.1f} {:>7.1f} {:>7.1f}\n",
      name_of(one.policy), meaning_of(one.policy), sums.born, sums.refused, sums.died, sums.evicted,
      sums.alive(), one.most_in_use, capacity,
      frames / (one.seconds.simulating + one.seconds.drawing),
      one.seconds.simulating / frames * 1e3, one.seconds.drawing / frames * 1e3);
  std::fflush(stdout);
}

void print_wrong(const showing& one) {
  for (const std::string& line : one.wrong) {
    fmt::print(stderr, "lido_particle_demo: {}: {}\n", name_of(one.policy), line);
  }
  if (one.wrong_count > one.wrong.size()) {
    fmt::print(stderr, "lido_particle_demo: {}: and {} more\n", name_of(one.policy),
               one.wrong_count - one.wrong.size());
  }
}

void print_verdict(const options& wanted, bool all_there, const std::vector<answer>& never_full) {
  fmt::print("  frames/s: simulated and drawn; sim: moved, given back and emitted.\n");
  if (all_there) {
    fmt::print(
        "\nVerified after every frame: each particle born is alive once, dead or evicted;\n"
        "  asked = born + refused, born = alive + died + evicted, no two in one place.\n");
    for (const answer policy : never_full) {
      fmt::print("  {}: the pool was never full; more frames show what it does then.\n",
                 name_of(policy));
    }
  }
  fmt::print("\nPictures: {}\n", std::filesystem::absolute(wanted.out).lexically_normal().string());
  for (const answer policy : wanted.answers) {
    fmt::print("  {0}.webp moves, {0}-0000.png and so on are its frames\n", name_of(policy));
  }
  if (wanted.answers.size() > 1) {
    fmt::print("  {} shows them all at the moment of most demand\n", sheet_name);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::runtime_error("not all could be printed");
  }
}

}  // namespace particles
