/// Tries to break: every call refuses a handle whose value is gone, for ever, and the handle of a
/// live value leads to exactly that value, complete.
///
/// Threads insert values that record their maker, share some handles, and erase and visit each
/// other's. A value is plain memory, made of copies of one number. So a visit too early, too late
/// or during its destruction shows, also to ThreadSanitizer. There are few slots, so that each
/// holds one value after another.
#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "harness/driver.hpp"
#include "lido/concurrent_slot_map.hpp"

namespace {

/// All parts are equal from the end of the constructor to the start of the destructor.
struct token {
  explicit token(std::uint64_t number) { parts.fill(number); }
  token(const token&) = delete;
  token& operator=(const token&) = delete;
  ~token() { parts.fill(0); }
  [[nodiscard]] bool is(std::uint64_t number) const {
    return parts == std::array{number, number, number, number};
  }
  std::array<std::uint64_t, 4> parts{};
};

using map = lido::concurrent_slot_map<token>;
using handle = map::handle_type;

/// A handle for all threads to see: written once by its maker, and erased by the first thread that
/// takes it. A value cannot carry the bits of its handle, which are known only when the value is
/// made. So its number is the maker's count; both are here.
struct posted {
  std::atomic<std::uint64_t> handle{0};
  std::atomic<std::uint64_t> number{0};
};

struct counts {
  std::uint64_t operations = 0;
  std::uint64_t stale = 0;
  std::uint64_t hits = 0;
  std::uint64_t erased = 0;
};

class worker {
 public:
  worker(stress::run& run, map& tokens, std::vector<posted>& board, unsigned thread)
      : run_(run),
        tokens_(tokens),
        board_(board),
        random_(run.generator(thread)),
        thread_(thread) {}

  counts work() {
    while (!run_.over()) {
      for (int i = 0; i < 256; ++i) {
        step();
      }
    }
    while (!own_.empty()) {
      erase_own();
    }
    return counts_;
  }

 private:
  struct owned {
    handle where;
    std::uint64_t number;
  };

  void step() {
    ++counts_.operations;
    const auto dice = random_() % 100;
    if (dice < 30) {
      insert();
    } else if (dice < 50) {
      erase_own();
    } else if (dice < 60) {
      ask_gone();
    } else if (dice < 70) {
      post();
    } else if (dice < 85) {
      erase_posted();
    } else if (dice < 97) {
      visit_posted();
    } else {
      walk();
    }
  }

  void insert() {
    const std::uint64_t number = ++made_ << 16U | thread_;
    if (const handle where = tokens_.try_emplace(number)) {
      own_.push_back({where, number});
      see(where, number, true);
    } else {
      erase_own();
    }
  }

  // `mine`: no other thread knows the handle, so it must not be refused.
  void see(handle where, std::uint64_t number, bool mine) {
    const auto whole = [&](const token& value) {
      if (!value.is(number)) {
        run_.broken("a handle led to another value, or to half of one");
      }
    };
    const bool hit = random_() % 2 == 0 ? tokens_.read(where, whole)
                                        : tokens_.visit(where, [&](token& value) { whole(value); });
    if (mine && !hit) {
      run_.broken("a value that nobody else knows is gone");
    }
    counts_.hits += hit ? 1 : 0;
    counts_.stale += hit ? 0 : 1;
  }

  void erase_own() {
    if (own_.empty()) {
      return;
    }
    std::swap(own_[random_() % own_.size()], own_.back());
    const owned last = own_.back();
    own_.pop_back();
    see(last.where, last.number, true);
    if (!tokens_.erase(last.where)) {
      run_.broken("a value that nobody else knows could not be erased");
    }
    bury(last.where);
  }

  void bury(handle where) {
    refuse(where);
    gone_[buried_++ % gone_.size()] = where;
    ++counts_.erased;
  }

  void refuse(handle where) {
    if (tokens_.contains(where) || tokens_.erase(where) || tokens_.visit(where, [](token&) {}) ||
        tokens_.read(where, [](const token&) {})) {
      run_.broken("a stale handle resolved");
    }
    ++counts_.stale;
  }

  void ask_gone() {
    const handle where = gone_[random_() % gone_.size()];
    if (where) {
      refuse(where);
    }
  }

  void post() {
    if (own_.empty()) {
      return;
    }
    const owned last = own_.back();
    posted& place = board_[random_() % board_.size()];
    std::uint64_t empty = 0;
    // The number comes first: a thread that sees the handle sees it, too.
    if (place.number.compare_exchange_strong(empty, last.number)) {
      own_.pop_back();
      place.handle = last.where.to_bits();
    }
  }

  void erase_posted() {
    posted& place = board_[random_() % board_.size()];
    const handle where = handle::from_bits(place.handle);
    if (where && tokens_.erase(where)) {
      bury(where);
      place.handle = 0;
      place.number = 0;  // from here on the entry is free for the next
    }
  }

  void visit_posted() {
    posted& place = board_[random_() % board_.size()];
    const std::uint64_t number = place.number;
    const handle where = handle::from_bits(place.handle);
    if (where && place.number == number && number != 0) {
      see_posted(where, place, number);
    }
  }

  // The entry may have changed to the next handle between the two looks.
  void see_posted(handle where, posted& place, std::uint64_t number) {
    const bool hit = tokens_.read(where, [&](const token& value) {
      if (!value.is(value.parts[0]) || value.parts[0] == 0) {
        run_.broken("half of a value was read");
      }
      if (place.handle == where.to_bits() && place.number == number && !value.is(number)) {
        run_.broken("a posted handle led to another value");
      }
    });
    counts_.hits += hit ? 1 : 0;
    counts_.stale += hit ? 0 : 1;
  }

  // Erases a posted value during the walk. No other thread may be visiting it any more, so it is
  // changed.
  void walk() {
    posted& place = board_[random_() % board_.size()];
    const handle goes = handle::from_bits(place.handle);
    tokens_.for_each([&](token& value, handle own) {
      if (value.parts[0] == 0 || !value.is(value.parts[0])) {
        run_.broken("a walk met half of a value");
      }
      if (own == goes && tokens_.erase(own)) {
        value.parts.fill(0);
        bury(own);
        place.handle = 0;
        place.number = 0;
      }
    });
    std::as_const(tokens_).for_each([&](const token& value) {
      if (value.parts[0] == 0 || !value.is(value.parts[0])) {
        run_.broken("a walk that reads met half of a value");
      }
    });
  }

  stress::run& run_;
  map& tokens_;
  std::vector<posted>& board_;
  stress::random random_;
  unsigned thread_;
  std::uint64_t made_ = 0;
  std::uint64_t buried_ = 0;
  std::vector<owned> own_;
  std::array<handle, 256> gone_{};
  counts counts_;
};

struct stale_handle_never_resolves : stress::driver {
  stale_handle_never_resolves() : driver("stale_handle_never_resolves") {}

  void prepare(stress::run& /*run*/) override {
    tokens_.emplace(slots_);
    posted_ = std::vector<posted>(board_);
  }
  void round(stress::run& run, unsigned /*number*/) override {
    run.in_threads(threads(), [&](unsigned thread) {
      const counts seen = worker(run, *tokens_, posted_, thread).work();
      run.add_operations(seen.operations);
      stale_ += seen.stale;
      erased_ += seen.erased;
    });
  }
  void check(stress::run& run) override {
    for (const posted& place : posted_) {
      (void)tokens_->erase(handle::from_bits(place.handle));
    }
    if (tokens_->size() != 0) {
      run.broken("values are left, or slots are lost");
    }
    fmt::print("{} values erased, {} refusals of stale handles\n", erased_.load(), stale_.load());
  }
  [[nodiscard]] std::string missing() const override {
    return stale_ > 0 && erased_ > slots_ ? "" : "too little happened";
  }

  const unsigned& slots_ = option("--slots", 64, "values at once");
  const unsigned& board_ = option("--board", 32, "handles that all threads know");
  std::optional<map> tokens_;
  std::vector<posted> posted_;
  std::atomic<std::uint64_t> stale_{0};
  std::atomic<std::uint64_t> erased_{0};
};

}  // namespace

int main(int argc, char** argv) {
  return stale_handle_never_resolves().drive(argc, argv);
}
