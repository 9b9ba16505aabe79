/// @file
/// A fountain of particles from Lido's pools, on all cores, once with each answer to a full pool.
/// The program draws it, counts every particle, and checks that none was lost or duplicated.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <exception>
#include <filesystem>
#include <iostream>
#include <vector>

#include "demand.hpp"
#include "options.hpp"
#include "picture/png_file.hpp"
#include "picture/sheet.hpp"
#include "preview.hpp"
#include "report.hpp"
#include "show.hpp"

namespace {

constexpr int particles_missing = 1;
constexpr int bad_input = 2;

particles::showing show_one(particles::answer policy, const particles::options& wanted,
                            const particles::demand& load) {
  particles::preview live(!wanted.headless);
  return particles::show(policy, wanted, load,
                         [&live](const particles::image& picture) { live.show(picture); });
}

int run(const particles::options& wanted) {
  const auto threads = static_cast<int>(wanted.threads);
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, wanted.threads);
  tbb::task_arena cores(threads);
  std::filesystem::create_directories(wanted.out);
  const particles::demand load(wanted.particles, wanted.frames, wanted.seed);
  particles::print_plan(wanted, load);
  bool all_there = true;
  std::vector<particles::answer> never_full;
  std::vector<particles::image> stills;
  for (const particles::answer policy : wanted.answers) {
    const particles::showing shown = cores.execute([&] { return show_one(policy, wanted, load); });
    particles::print_showing(shown, wanted);
    particles::print_wrong(shown);
    all_there = all_there && shown.wrong_count == 0;
    if (particles::was_never_full(shown)) {
      never_full.push_back(policy);
    }
    stills.push_back(shown.still.value());
  }
  if (stills.size() > 1) {
    particles::write_png(particles::sheet_of(stills),
                         std::filesystem::path(wanted.out) / particles::sheet_name);
  }
  particles::print_verdict(wanted, all_there, never_full);
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
