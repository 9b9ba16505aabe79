// The fountain over a build of Lido that breaks a rule of its design: says BROKEN when the demo's
// checks notice.
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "fountain.hpp"

namespace {

constexpr std::size_t frames = 120;
constexpr std::size_t usual = 5000;

/// Stops at the first complaint: after it anything may follow.
bool goes_well(particles::answer policy) {
  const particles::demand load(usual, frames, /*seed=*/1);
  particles::ledger books(load.total());
  particles::fountain running(policy, particles::size_for(policy, load), load, books);
  for (std::size_t frame = 0; frame < frames && books.wrong().empty(); ++frame) {
    running.advance(frame);
    running.check();
  }
  for (const std::string& line : books.wrong()) {
    std::cout << "BROKEN: " << line << std::endl;
  }
  return books.wrong().empty();
}

}  // namespace

int main() {
  try {
    for (const particles::answer policy : particles::all_answers) {
      if (!goes_well(policy)) {
        std::_Exit(1);  // the map is not fit to be destroyed
      }
    }
    return 0;
  } catch (const std::exception& problem) {
    std::cout << "ended before anything was noticed: " << problem.what() << '\n';
    return 1;
  }
}
