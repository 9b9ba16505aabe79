/// Tries to break: a shrink_to_fit of a concurrent_slot_map hides no value from walks that begin
/// later, and makes no insert fail.
///
/// Some threads shrink all the time. Each of the others inserts values of its own in bursts, never
/// more than its share of the slots. So every insert must succeed, and every walk of its own must
/// meet each of its values once.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "harness/command_line.hpp"
#include "harness/run.hpp"
#include "lido/slot_map.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::size_t slots = 512;
  unsigned shrinkers = 1;
};

struct owned {
  unsigned owner;
};
using map = lido::concurrent_slot_map<owned>;

class worker {
 public:
  worker(stress::run& run, map& values, unsigned thread, std::size_t share)
      : run_(run),
        values_(values),
        random_(run.generator(thread)),
        thread_(thread),
        share_(share) {}

  void work() {
    while (!run_.over()) {
      const std::size_t wanted = random_() % 4 == 0 ? random_() % (share_ + 1) : 1 + random_() % 4;
      while (own_.size() > wanted) {
        erase_one();
      }
      while (own_.size() < wanted) {
        insert();
        walk();
      }
      run_.add_operations(1);
    }
    while (!own_.empty()) {
      erase_one();
    }
  }

 private:
  void insert() {
    const auto fresh = values_.try_emplace(owned{thread_});
    if (!fresh) {
      run_.broken("an insert was refused although there was a slot");
    }
    own_.push_back(fresh);
  }

  void erase_one() {
    std::swap(own_[random_() % own_.size()], own_.back());
    if (!values_.erase(own_.back())) {
      run_.broken("a value could not be erased by its owner");
    }
    own_.pop_back();
  }

  void walk() {
    std::size_t met = 0;
    values_.for_each([&](owned& value) { met += value.owner == thread_ ? 1 : 0; });
    if (met != own_.size()) {
      run_.broken(fmt::format("a walk met {} of {} values", met, own_.size()));
    }
  }

  stress::run& run_;
  map& values_;
  stress::random random_;
  unsigned thread_;
  std::size_t share_;
  std::vector<map::handle_type> own_;
};

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("A shrink beside inserts and walks", settings.run);
  line.add("--slots", settings.slots, "values at once");
  line.add("--shrinkers", settings.shrinkers, "threads that shrink");
  line.parse(argc, argv);

  stress::run run(settings.run);
  map values(settings.slots);
  std::atomic<std::size_t> lowest = settings.slots;
  const unsigned workers = std::max(settings.run.threads, settings.shrinkers + 1);
  while (run.goes_on(lowest < settings.slots)) {
    run.in_threads(workers, [&](unsigned thread) {
      if (thread >= settings.shrinkers) {
        worker(run, values, thread, settings.slots / (workers - settings.shrinkers)).work();
        return;
      }
      while (!run.over()) {
        values.shrink_to_fit();
        lowest = std::min(lowest.load(), values.extent());
      }
    });
  }
  values.shrink_to_fit();
  if (values.size() != 0 || values.extent() != 0) {
    run.broken("values are left, or slots are lost");
  }
  fmt::print("shortest walk: {} of {} slots\n", lowest.load(), settings.slots);
  run.require(lowest < settings.slots, "no walk was ever shorter");
  return run.held("shrink_beside_inserts");
}
