/// @file
/// A fountain of particles out of Lido's pools, on all cores, once with each answer to a full pool;
/// draws it, counts every particle, and checks that none was lost or doubled.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <exception>
#include <filesystem>
#include <iostream>

#include "demand.hpp"
#include "options.hpp"
#include "report.hpp"
#include "show.hpp"

namespace {

constexpr int particles_missing = 1;
constexpr int bad_input = 2;

int run(const particles::options& wanted) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, wanted.threads);
  std::filesystem::create_directories(wanted.out);
  const particles::demand load(wanted.particles, wanted.frames, wanted.seed);
  particles::print_plan(wanted, load);
  bool all_there = true;
  for (const particles::answer policy : wanted.answers) {
    const particles::showing shown = particles::show(policy, wanted, load, [](auto&&...) {});
    particles::print_showing(shown, wanted);
    particles::print_wrong(shown);
    all_there = all_there && shown.wrong_count == 0;
  }
  return all_there ? 0 : particles_missing;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const particles::parsed command = particles::parse(count, arguments);
    return command.wanted ? run(*command.wanted) : command.status;
  } catch (const std::exception& problem) {
    std::cerr << "lido_particle_demo: " << problem.what() << '\n';
    return bad_input;
  }
}
