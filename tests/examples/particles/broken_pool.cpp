// The fountain over a build of Lido that breaks a rule of its design; prints BROKEN when the demo's
// checks notice.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "fountain.hpp"
#include "lido/object_pool.hpp"
#include "stores/tuned_store.hpp"

namespace {

constexpr std::size_t frames = 120;
constexpr std::size_t usual = 20'000;
constexpr int threads = 4;

constexpr unsigned runs = 20;  // threads that do not meet notice nothing

/// Runs with capacity for the peak, and no more: a lost slot is missed there.
bool goes_well(unsigned seed) {
  const particles::demand load(usual, frames, seed);
  particles::tuned_store store(load.peak());
  particles::ledger books(load.total());
  particles::nursery births(seed, books);
  particles::fountain<particles::tuned_store> running(store, books, births);
  // Stops at the first complaint: with a slot in two hands, anything may follow.
  for (std::size_t frame = 0; frame < frames && books.found_wrong().count() == 0; ++frame) {
    running.advance(load.births(frame), particles::demand::pressure(frame));
    running.check();
  }
  for (const std::string& line : books.found_wrong().first()) {
    std::cout << "BROKEN: " << line << std::endl;
  }
  if (books.found_wrong().count() != 0) {
    std::_Exit(1);  // leases of one slot are released twice in destructors
  }
  return true;
}

}  // namespace

int main() {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena cores(threads);
  try {
    for (unsigned seed = 1; seed <= runs; ++seed) {
      if (!cores.execute([seed] { return goes_well(seed); })) {
        return 1;
      }
    }
    return 0;
  } catch (const lido::pool_exhausted& problem) {
    std::cout << "BROKEN: a slot is missing: " << problem.what() << '\n';
    return 1;
  } catch (const std::exception& problem) {
    std::cout << "ended before anything was noticed: " << problem.what() << '\n';
    return 1;
  }
}
