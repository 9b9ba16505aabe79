/// Tries to break: a full map that evicts takes the least important value, ends each value once,
/// and never refuses an insert.
///
/// Threads insert into a map that is always full and read, change and erase each other's values.
/// Fewer values than there are slots are more important than any other, and must outlive the run.
/// All values that live are counted.
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "harness/command_line.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"
#include "lido/slot_map.hpp"

namespace {

constexpr std::uint64_t most_important = std::numeric_limits<std::uint64_t>::max();

/// All parts are the same number while the value lives; `alive` counts the values that do.
class ranked {
 public:
  ranked(std::uint64_t number, std::uint64_t importance, std::atomic<long>& alive)
      : rank(importance), alive_(&alive) {
    parts_.fill(number);
    ++alive;
  }
  ranked(const ranked&) = delete;
  ranked& operator=(const ranked&) = delete;
  ~ranked() {
    parts_.fill(0);
    --*alive_;
  }

  [[nodiscard]] bool is(std::uint64_t number) const {
    return parts_ == std::array{number, number, number, number};
  }
  [[nodiscard]] bool is_whole() const { return parts_[0] != 0 && is(parts_[0]); }

  std::uint64_t rank;

 private:
  std::array<std::uint64_t, 4> parts_{};
  std::atomic<long>* alive_;
};

using map = lido::concurrent_slot_map<ranked>;
using handle = map::handle_type;

struct settings {
  stress::run_options run;
  std::size_t slots = 64;
  std::size_t keep = 16;
  unsigned erase = 8;
};

struct counts {
  std::atomic<std::uint64_t> inserted{0};
  std::atomic<std::uint64_t> erased{0};
  std::atomic<std::uint64_t> gone{0};  ///< handles that somebody's eviction has made stale
};

class worker {
 public:
  worker(stress::run& run, map& values, std::atomic<long>& alive, const settings& settings,
         unsigned thread)
      : run_(run),
        values_(values),
        alive_(alive),
        settings_(settings),
        thread_(thread),
        random_(run.generator(thread)) {}

  void work(counts& totals) {
    while (!run_.over()) {
      for (int i = 0; i < 64; ++i) {
        insert();
        look_back();
      }
    }
    totals.inserted += made_;
    totals.erased += erased_;
    totals.gone += gone_;
    run_.add_operations(2 * made_);
  }

 private:
  struct known {
    handle where;
    std::uint64_t number = 0;
    bool is_gone = false;
  };

  void insert() {
    const std::uint64_t number = ++made_ << 16U | thread_;
    const auto importance = [this](const ranked& value) {
      if (!value.is_whole()) {
        run_.broken("an eviction asked half of a value");
      }
      return value.rank;
    };
    const handle where = values_.emplace_or_evict(importance, number, random_() % 1000, alive_);
    if (!where) {
      run_.broken("an insert that may evict was refused");
    }
    mine_[made_ % mine_.size()] = {where, number, false};
  }

  /// At one of the values this thread has made, which another may have evicted.
  void look_back() {
    known& one = mine_[random_() % mine_.size()];
    if (!one.where) {
      return;
    }
    const bool there = values_.visit(one.where, [&](ranked& value) {
      if (!value.is(one.number)) {
        run_.broken("a handle led to another value, or to half of one");
      }
      value.rank = random_() % 1000;
    });
    if (there && one.is_gone) {
      run_.broken("a stale handle resolved");
    }
    gone_ += there || one.is_gone ? 0 : 1;
    one.is_gone = !there;
    if (there && random_() % settings_.erase == 0) {
      erased_ += values_.erase(one.where) ? 1 : 0;
      one.is_gone = true;
    }
  }

  stress::run& run_;
  map& values_;
  std::atomic<long>& alive_;
  const settings& settings_;
  unsigned thread_;
  stress::random random_;
  std::uint64_t made_ = 0;
  std::uint64_t erased_ = 0;
  std::uint64_t gone_ = 0;
  std::array<known, 32> mine_{};
};

void check(stress::run& run, map& values, const std::vector<handle>& kept, long alive) {
  for (const handle where : kept) {
    bool whole = false;
    if (!values.read(where, [&whole](const ranked& value) { whole = value.is_whole(); })) {
      run.broken("the most important value was evicted");
    }
    if (!whole) {
      run.broken("the most important value was overwritten");
    }
  }
  long met = 0;
  values.for_each([&](ranked& /*value*/) { ++met; });
  if (met != alive || static_cast<long>(values.size()) != alive) {
    run.broken(fmt::format("{} values live, the map counts {}, a walk meets {}", alive,
                           values.size(), met));
  }
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("An important value stays", settings.run);
  line.add("--slots", settings.slots, "values at once");
  line.add("--keep", settings.keep, "of them more important than all others");
  line.add("--erase", settings.erase, "one look in so many erases");
  line.parse(argc, argv);

  stress::run run(settings.run);
  // Each thread may have an important value under way beside those that are kept.
  run.require(settings.slots >= settings.keep + settings.run.threads, "there are too few slots");
  std::atomic<long> alive = 0;
  counts totals;
  {
    map values(settings.slots);
    std::vector<handle> kept;
    for (std::uint64_t number = 1; number <= settings.keep; ++number) {
      kept.push_back(values.emplace(number, most_important, alive));
    }
    while (run.goes_on(totals.gone > settings.slots)) {
      run.in_threads(settings.run.threads, [&](unsigned thread) {
        worker(run, values, alive, settings, thread).work(totals);
      });
      check(run, values, kept, alive);
    }
  }
  if (alive != 0) {
    run.broken(fmt::format("{} values outlive their map", alive.load()));
  }
  run.require(totals.gone > settings.slots, "too little was evicted");
  stress::figures("important_value_stays")
      .add("threads", settings.run.threads)
      .add("inserted", totals.inserted.load())
      .add("erased", totals.erased.load())
      .print();
  return run.held("important_value_stays");
}
