/// Tries to break: a walk visits each value that lives from its start to its end exactly once. That
/// holds whatever is erased and inserted during the walk, and whatever compaction or shrinking is
/// requested.
///
/// There are two kinds. `one_thread`: walks of a slot_map whose callbacks erase, insert, walk and
/// request compaction, which follows when the walk has ended, one map for each thread.
/// `concurrent`: one concurrent_slot_map, whose values never move: some threads insert and erase
/// while others walk; with `par` they walk by oneTBB.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/driver.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map.hpp"
#ifdef LIDO_STRESS_TBB
#include "lido/tbb.hpp"
#endif

namespace {

struct settings : stress::driver {
  settings() : driver("compaction_beside_iteration") {}

  const unsigned& kind =
      option("--kind", 0, "0: one thread each, 1: concurrent, 2: concurrent by oneTBB");
  const unsigned& slots = option("--slots", 512, "most values at once");
  const unsigned& stay = option("--stay", 128, "of them never erased, among threads");
};

// ---- one thread --------------------------------------------------------------------------------

/// Erases, inserts and requests compaction from inside walks of one slot_map.
class gardener {
 public:
  using map = lido::slot_map<std::uint64_t>;
  using handle = map::handle_type;

  gardener(stress::run& run, stress::random random, lido::compaction_mode mode)
      : run_(run), random_(random), values_({.shrink_threshold = 32, .compaction = mode}) {}

  std::uint64_t work(std::size_t slots) {
    while (!run_.over()) {
      while (there_.size() < slots / 2) {
        insert();
      }
      walk(slots, 0);
      check_all();
    }
    return walks_;
  }

 private:
  void insert() {
    there_.emplace(values_.insert(next_), next_);
    ++next_;
  }

  void forget(handle gone) {
    there_.erase(gone);
    erased_.push_back(gone);
  }

  void walk(std::size_t slots, int depth) {
    const auto before = there_;
    std::unordered_map<handle, int> met;
    ++walks_;
    values_.for_each([&](std::uint64_t& value, handle own) {
      const std::uint64_t seen = value;
      if (++met[own] > 1) {
        run_.broken("a walk met a value twice");
      }
      if (const auto known = there_.find(own); known == there_.end() || known->second != seen) {
        run_.broken("a walk met a value that is not there");
      }
      return act(own, slots, depth);
    });
    for (const auto& [where, value] : before) {
      if (there_.contains(where) && !met.contains(where)) {
        run_.broken(fmt::format("a walk left out value {}", value));
      }
    }
  }

  lido::step act(handle own, std::size_t slots, int depth) {
    switch (random_() % 8) {
      case 0:
        forget(own);
        return lido::step::erase;
      case 1:
        erase_any();
        break;
      case 2:
        if (there_.size() < slots) {
          insert();
        }
        break;
      case 3:
        random_() % 2 == 0 ? values_.compact() : values_.shrink_to_fit();
        break;
      case 4:
        if (depth == 0 && random_() % 64 == 0) {
          walk(slots, 1);
        }
        break;
      default:
        break;
    }
    return lido::step::next;
  }

  void erase_any() {
    const handle gone = there_.begin()->first;
    if (!values_.erase(gone)) {
      run_.broken("a value that is there could not be erased");
    }
    forget(gone);
  }

  void check_all() {
    if (values_.size() != there_.size()) {
      run_.broken("the map has another size than what it holds");
    }
    for (const auto& [where, value] : there_) {
      const std::uint64_t* const found = values_.find(where);
      if (found == nullptr || *found != value) {
        run_.broken("a handle does not lead to its value");
      }
    }
    for (const handle gone : erased_) {
      if (values_.contains(gone)) {
        run_.broken("a stale handle resolved");
      }
    }
    erased_.clear();
  }

  stress::run& run_;
  stress::random random_;
  map values_;
  std::unordered_map<handle, std::uint64_t> there_;
  std::vector<handle> erased_;
  std::uint64_t next_ = 0;
  std::uint64_t walks_ = 0;
};

std::uint64_t in_one_thread_each(stress::run& run, const settings& settings) {
  std::atomic<std::uint64_t> walks = 0;
  run.in_threads(settings.threads(), [&](unsigned thread) {
    const auto mode = static_cast<lido::compaction_mode>(thread % 3);
    walks += gardener(run, run.generator(thread), mode).work(settings.slots);
  });
  return walks;
}

// ---- many threads ------------------------------------------------------------------------------

/// Values below `stay` live throughout; the others are inserted and erased.
struct visited {
  std::uint64_t number;
  std::uint64_t walk = 0;  ///< plain: a walking thread has exclusive access to the value
};
using shared_map = lido::concurrent_slot_map<visited>;

void come_and_go(stress::run& run, shared_map& values, stress::random random, std::size_t stay) {
  std::vector<shared_map::handle_type> own;
  while (!run.over()) {
    for (int i = 0; i < 64; ++i) {
      if (random() % 2 == 0) {
        if (const auto fresh = values.try_emplace(visited{stay + random() % 1000})) {
          own.push_back(fresh);
          continue;
        }
      }
      if (!own.empty()) {
        std::swap(own[random() % own.size()], own.back());
        if (!values.erase(own.back())) {
          run.broken("a value could not be erased by its owner");
        }
        own.pop_back();
      }
    }
  }
  for (const auto rest : own) {
    (void)values.erase(rest);
  }
}

/// One walk, which counts each of the lasting values.
class round_trip {
 public:
  round_trip(stress::run& run, std::size_t stay) : run_(run), met_(stay) {}

  void meet(const visited& value) {
    if (value.number < met_.size()) {
      met_[value.number].fetch_add(1, std::memory_order_relaxed);
    }
  }
  void check() const {
    for (const auto& times : met_) {
      if (times != 1) {
        run_.broken(fmt::format("a walk met a value {} times that was always there", times.load()));
      }
    }
  }

 private:
  stress::run& run_;
  std::vector<std::atomic<unsigned>> met_;
};

void walk_once(stress::run& run, shared_map& values, const settings& settings) {
  round_trip trip(run, settings.stay);
  const auto meet = [&](visited& value) {
    ++value.walk;
    trip.meet(value);
  };
#ifdef LIDO_STRESS_TBB
  if (settings.kind == 2) {
    values.for_each(lido::par, meet);
    trip.check();
    return;
  }
#endif
  values.for_each(meet);
  trip.check();
}

std::uint64_t among_threads(stress::run& run, const settings& settings) {
  shared_map values(settings.slots);
  for (std::uint64_t number = 0; number < settings.stay; ++number) {
    (void)values.emplace(visited{number});
  }
  std::atomic<std::uint64_t> walks = 0;
  run.in_threads(std::max(settings.threads(), 2U), [&](unsigned thread) {
    if (thread % 2 == 0) {
      come_and_go(run, values, run.generator(thread), settings.stay);
      return;
    }
    while (!run.over()) {
      walk_once(run, values, settings);
      ++walks;
    }
  });
  if (values.size() != settings.stay) {
    run.broken("values are left, or slots are lost");
  }
  return walks;
}

struct compaction_beside_iteration : settings {
  void round(stress::run& run, unsigned /*number*/) override {
    walks_ += kind == 0 ? in_one_thread_each(run, *this) : among_threads(run, *this);
  }
  void check(stress::run& run) override { run.add_operations(walks_); }
  [[nodiscard]] std::string missing() const override { return walks_ == 0 ? "nobody walked" : ""; }

  std::uint64_t walks_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return compaction_beside_iteration().drive(argc, argv);
}
