/// Tries to break: the results that threads see of a concurrent_slot_map could come from some order
/// of their calls, one after another.
///
/// Every value has a handle of its own for ever, so handles can be judged one by one. Its history
/// is an insert, calls that find the value, one erase that succeeds, and calls that do not find it.
/// An order exists if and only if there is a moment for the erase. Before it the erase and every
/// call that found the value must have begun. After it the erase and every call that did not find
/// the value must end. (Herlihy and Wing 1990: a history is linearizable if that of each object
/// is.)
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "harness/driver.hpp"
#include "harness/history.hpp"
#include "harness/report.hpp"
#include "lido/concurrent_slot_map.hpp"

namespace {

using stress::instant;
using shared_map = lido::concurrent_slot_map<std::uint64_t>;
using handle = shared_map::handle_type;

struct settings : stress::driver {
  settings() : driver("history_is_linearizable") {}

  const unsigned& slots = option("--slots", 16, "values at once");
  const unsigned& board = option("--board", 4, "handles that all threads know");
  const unsigned& steps = option("--steps", 4000, "of each thread in a round");
};

enum class call : std::uint8_t { insert, find, erase };

struct event {
  handle about;
  call what;
  bool success;
  instant begin;
  instant end;
};

/// The facts known of one handle; see the top.
class life {
 public:
  void add(const event& seen) {
    if (seen.what == call::insert) {
      inserted_ = seen.begin;
      ++inserts_;
    } else if (seen.what == call::erase && seen.success) {
      earliest_ = std::max(earliest_, seen.begin);
      latest_ = std::min(latest_, seen.end);
      ++erases_;
    } else if (seen.success) {
      earliest_ = std::max(earliest_, seen.begin);
      first_found_ = std::min(first_found_, seen.end);
    } else {
      latest_ = std::min(latest_, seen.end);
      ++misses_;
    }
  }

  /// Returns why no order explains them, or an empty string if one does.
  [[nodiscard]] std::string impossible() const {
    if (inserts_ != 1) {
      return fmt::format("{} inserts gave the same handle", inserts_);
    }
    if (erases_ > 1) {
      return fmt::format("{} erases of one value succeeded", erases_);
    }
    if (erases_ == 0 && misses_ != 0) {
      return "a value was not found that nobody has erased";
    }
    if (first_found_ < inserted_) {
      return "a value was found before it was inserted";
    }
    if (erases_ == 1 && earliest_ > latest_) {
      return fmt::format("no moment for the erase: after {} and before {}", earliest_, latest_);
    }
    return {};
  }

 private:
  int inserts_ = 0;
  int erases_ = 0;
  int misses_ = 0;
  instant inserted_ = 0;
  instant first_found_ = std::numeric_limits<instant>::max();
  instant earliest_ = 0;
  instant latest_ = std::numeric_limits<instant>::max();
};

/// One thread's part of a round.
class worker {
 public:
  worker(shared_map& values, std::vector<std::atomic<std::uint64_t>>& board, stress::random random)
      : values_(values), board_(board), random_(random) {}

  [[nodiscard]] const std::vector<event>& work(unsigned steps) {
    seen_.reserve(steps);
    while (seen_.size() < steps) {
      std::atomic<std::uint64_t>& place = board_[random_() % board_.size()];
      const handle posted = handle::from_bits(place);
      const auto dice = random_() % 100;
      if (dice < 25 || !posted) {
        insert(place);
      } else if (dice < 50) {
        erase(posted);
      } else {
        find(posted, dice);
      }
    }
    return seen_;
  }

 private:
  void note(handle about, call what, bool success, instant begin) {
    seen_.push_back({about, what, success, begin, stress::now()});
  }

  void insert(std::atomic<std::uint64_t>& place) {
    const instant begin = stress::now();
    const handle fresh = values_.try_emplace(begin);
    if (fresh) {
      note(fresh, call::insert, true, begin);
      // The previous value is erased by its last holder: this thread.
      if (const handle old = handle::from_bits(place.exchange(fresh.to_bits()))) {
        erase(old);
      }
    }
  }

  void erase(handle old) {
    const instant begin = stress::now();
    const bool success = values_.erase(old);
    note(old, call::erase, success, begin);
  }

  void find(handle which, unsigned long dice) {
    const instant begin = stress::now();
    bool found = false;
    if (dice < 65) {
      found = values_.contains(which);
    } else if (dice < 85) {
      found = values_.visit(which, [](std::uint64_t& value) { ++value; });
    } else {
      found = values_.read(which, [](const std::uint64_t&) {});
    }
    note(which, call::find, found, begin);
  }

  shared_map& values_;
  std::vector<std::atomic<std::uint64_t>>& board_;
  stress::random random_;
  std::vector<event> seen_;
};

std::vector<event> one_round(stress::run& run, shared_map& values, const settings& settings,
                             unsigned round) {
  std::vector<event> whole;
  std::mutex door;
  std::vector<std::atomic<std::uint64_t>> board(settings.board);
  std::barrier start(settings.threads());
  run.in_threads(settings.threads(), [&](unsigned thread) {
    worker worker(values, board, run.generator(thread, round));
    start.arrive_and_wait();
    const std::vector<event>& seen = worker.work(settings.steps);
    const std::lock_guard lock(door);
    whole.insert(whole.end(), seen.begin(), seen.end());
  });
  for (const auto& rest : board) {
    const instant begin = stress::now();
    if (const handle last = handle::from_bits(rest)) {
      whole.push_back({last, call::erase, values.erase(last), begin, stress::now()});
    }
  }
  return whole;
}

/// Checks all histories; returns how many calls were refused.
std::size_t judge(const stress::run& run, const std::vector<event>& whole) {
  std::map<handle, life> lives;
  std::size_t refused = 0;
  for (const event& seen : whole) {
    lives[seen.about].add(seen);
    refused += seen.success ? 0 : 1;
  }
  for (const auto& [about, what] : lives) {
    if (const std::string problem = what.impossible(); !problem.empty()) {
      run.broken(fmt::format("handle {:#x}: {}", about.to_bits(), problem));
    }
  }
  return refused;
}

struct history_is_linearizable : settings {
  void prepare(stress::run& /*run*/) override { values_.emplace(slots); }
  void round(stress::run& run, unsigned number) override {
    const std::vector<event> whole = one_round(run, *values_, *this, number);
    refused_ += judge(run, whole);
    run.add_operations(whole.size());
    if (values_->size() != 0) {
      run.broken("values are left, or slots are lost");
    }
    ++rounds_;
  }
  void check(stress::run& run) override {
    stress::figures("slot_map." + invariant())
        .add("threads", threads())
        .add("rounds", rounds_)
        .add("operations", run.operations())
        .add("refused", refused_)
        .print();
  }
  [[nodiscard]] std::string missing() const override {
    return refused_ == 0 ? "no call was refused" : "";
  }

  std::optional<shared_map> values_;
  std::size_t refused_ = 0;
  unsigned rounds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return history_is_linearizable().drive(argc, argv);
}
