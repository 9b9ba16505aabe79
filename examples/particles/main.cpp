/// @file
/// Runs the fountain with each answer to a full map, draws it, counts every particle, and checks
/// that none was lost or doubled.
#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "fountain.hpp"
#include "options.hpp"
#include "picture.hpp"

namespace particles {
namespace {

/// Results of a run with one answer.
struct outcome {
  answer policy;
  tally counted{};
  std::vector<std::string> wrong{};
  std::size_t most = 0;
  std::size_t least_capacity = 0;
  std::size_t most_capacity = 0;
  double simulating = 0;  ///< seconds
  double drawing = 0;     ///< seconds

  /// Returns true if the answer was never needed, so that the run says nothing about it. A map that
  /// is large enough is its own answer.
  [[nodiscard]] bool was_never_full() const noexcept {
    return (policy == answer::refuse && counted.refused == 0) ||
           (policy == answer::evict && counted.evicted == 0) ||
           (policy == answer::grow && least_capacity == most_capacity);
  }
};

/// Adds the seconds that an action takes.
template <class Action>
void timed(double& seconds, const Action& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

image drawn(const fountain::map& map, std::size_t peak, painter& by) {
  map.for_each([&by](const particle& p) { by.add(p); });
  return by.develop({map.size(), map.capacity(), peak});
}

outcome show(answer policy, const options& wanted, const demand& load) {
  ledger books(load.total());
  fountain running(policy, size_for(policy, load), load, books);
  const fountain::map& map = running.particles();
  painter paints(wanted.width, wanted.height, wanted.particles);
  const std::string file = (std::filesystem::path(wanted.out) / name_of(policy)).string();
  animation moving(file + ".webp", wanted.width, wanted.height);
  image picture{wanted.width, wanted.height};
  outcome result{.policy = policy, .least_capacity = map.capacity()};
  for (std::size_t frame = 0; frame < wanted.frames; ++frame) {
    timed(result.simulating, [&] { running.advance(frame); });
    running.check();
    result.most = std::max(result.most, map.size());
    result.least_capacity = std::min(result.least_capacity, map.capacity());
    result.most_capacity = std::max(result.most_capacity, map.capacity());
    timed(result.drawing, [&] { picture = drawn(map, load.peak(), paints); });
    moving.add(picture);
    if (frame % wanted.every == 0) {
      write_png(picture, fmt::format("{}-{:04}.png", file, frame));
    }
  }
  moving.finish();
  result.counted = books.totals();
  result.wrong = books.wrong();
  return result;
}

void print_plan(const options& wanted, const demand& load) {
  fmt::print("Fountain: {} particles, {} frames of {}x{}, seed {}, {} threads\n", wanted.particles,
             wanted.frames, wanted.width, wanted.height, wanted.seed, wanted.threads);
  fmt::print("  {} particles are asked for; with room for all, {} are alive at the peak\n\n",
             load.total(), load.peak());
  fmt::print("  {:<7} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>15} {:>8} {:>8}\n", "policy",
             "when the map is full", "born", "refused", "died", "evicted", "alive", "most",
             "capacity", "sim ms", "draw ms");
}

void print_outcome(const outcome& one, const options& wanted) {
  const tally& sums = one.counted;
  const double frames = static_cast<double>(wanted.frames) / 1e3;
  const std::string capacity = one.least_capacity == one.most_capacity
                                   ? fmt::format("{}", one.most_capacity)
                                   : fmt::format("{}..{}", one.least_capacity, one.most_capacity);
  fmt::print("  {:<7} {:<26} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>15} {:>8.1f} {:>8.1f}\n",
             name_of(one.policy), meaning_of(one.policy), sums.born, sums.refused, sums.died,
             sums.evicted, sums.alive(), one.most, capacity, one.simulating / frames,
             one.drawing / frames);
  (void)std::fflush(stdout);
  for (const std::string& line : one.wrong) {
    fmt::print(stderr, "lido_particle_demo: {}: {}\n", name_of(one.policy), line);
  }
}

/// What was verified, which answers were never asked for, and where the pictures are.
void print_verdict(const options& wanted, const std::vector<outcome>& all, bool all_there) {
  if (all_there) {
    fmt::print(
        "\nVerified after every frame: each particle born is alive once, dead or evicted;\n"
        "  born = alive + died + evicted, and each handle leads to its particle.\n");
  }
  for (const outcome& one : all) {
    if (all_there && one.was_never_full()) {
      fmt::print("  {}: the map was never full; more frames show what it does then.\n",
                 name_of(one.policy));
    }
  }
  fmt::print("\nPictures: {}\n", std::filesystem::absolute(wanted.out).lexically_normal().string());
  for (const outcome& one : all) {
    fmt::print("  {0}.webp moves, {0}-0000.png and so on are its frames\n", name_of(one.policy));
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::runtime_error("not all could be printed");
  }
}

/// The exit status: 1 when a particle was lost or doubled.
int run(const options& wanted) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, wanted.threads);
  tbb::task_arena cores(static_cast<int>(wanted.threads));
  std::filesystem::create_directories(wanted.out);
  const demand load(wanted.particles, wanted.frames, wanted.seed);
  print_plan(wanted, load);
  std::vector<outcome> all;
  for (const answer policy : wanted.answers) {
    all.push_back(cores.execute([&] { return show(policy, wanted, load); }));
    print_outcome(all.back(), wanted);
  }
  const bool all_there =
      std::all_of(all.begin(), all.end(), [](const outcome& one) { return one.wrong.empty(); });
  print_verdict(wanted, all, all_there);
  return all_there ? 0 : 1;
}

}  // namespace
}  // namespace particles

int main(int count, char** arguments) {
  try {
    const particles::parsed command = particles::parse(count, arguments);
    return command.wanted ? particles::run(*command.wanted) : command.status;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lido_particle_demo: {}\n", problem.what());
    return 2;
  }
}
