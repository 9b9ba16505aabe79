#include <algorithm>
#include <array>
#include <limits>

#include "checker/chooser.hpp"

namespace model {

namespace {

/// Vigna's xorshift64*: fast, and with the same results on every machine.
class generator {
 public:
  void seed(std::uint64_t seed) {
    // Applies the finalizer of SplitMix64, so that neighbouring seeds have nothing in common.
    seed = (seed + 1) * 0x9E3779B97F4A7C15U;
    seed = (seed ^ (seed >> 30U)) * 0xBF58476D1CE4E5B9U;
    seed = (seed ^ (seed >> 27U)) * 0x94D049BB133111EBU;
    state_ = seed | 1U;
  }

  unsigned below(std::uint64_t limit) {
    state_ ^= state_ >> 12U;
    state_ ^= state_ << 25U;
    state_ ^= state_ >> 27U;
    return static_cast<unsigned>(((state_ * 0x2545F4914F6CDD1DU) >> 32U) * limit >> 32U);
  }

 private:
  std::uint64_t state_ = 1;
};

/// Common base of random choosers. It holds a generator that is seeded anew for each execution, and
/// decides how often memory behaves weakly. Sometimes one thread lives in the past: it nearly
/// always reads the oldest value that it may read.
class random_chooser : public chooser {
 public:
  explicit random_chooser(std::uint64_t seed) : seed_(seed) {}

  bool begin() override {
    random_.seed(seed_++);
    constexpr std::array<unsigned, 4> chances{64, 16, 4, 2};
    weak_one_in_ = chances[random_.below(chances.size())];
    late_ = static_cast<thread_id>(random_.below(2 * chances.size()));
    return true;
  }

  unsigned choose(question asked, unsigned count, thread_id who) override {
    if (asked == question::read && who == late_) {
      constexpr unsigned seldom = 8;
      return random_.below(seldom) == 0 ? 0 : count - 1;
    }
    if (asked != question::event && random_.below(weak_one_in_) != 0) {
      return 0;
    }
    return random_.below(count);
  }

  void ended(std::size_t steps) override { longest_ = std::max(longest_, steps); }

 protected:
  generator random_;
  std::size_t longest_ = 50;

 private:
  std::uint64_t seed_;
  unsigned weak_one_in_ = 2;
  thread_id late_ = 0;
};

class by_chance_chooser final : public random_chooser {
 public:
  by_chance_chooser(std::uint64_t seed, bool solo) : random_chooser(seed), solo_(solo) {}

  bool begin() override {
    (void)random_chooser::begin();
    constexpr std::array<unsigned, 4> chances{1, 3, 8, 20};
    change_one_in_ = chances[random_.below(chances.size())];
    return true;
  }

  unsigned choose_thread(const candidates& among) override {
    if (among.can_stay && !among.free && random_.below(change_one_in_) != 0) {
      return 0;
    }
    return random_.below(among.threads.size());
  }

  std::size_t step_of_solo() override { return solo_ ? 1 + random_.below(longest_) : 0; }

 private:
  bool solo_;
  unsigned change_one_in_ = 1;
};

class by_priority_chooser final : public random_chooser {
 public:
  by_priority_chooser(std::uint64_t seed, unsigned depth)
      : random_chooser(seed), falls_(std::max(depth, 1U) - 1) {}

  bool begin() override {
    (void)random_chooser::begin();
    for (std::size_t& step : falls_) {
      step = 1 + random_.below(longest_);
    }
    for (int& priority : priorities_) {
      priority = static_cast<int>(random_.below(std::numeric_limits<int>::max() / 2)) + 1;
    }
    lowest_ = 0;
    return true;
  }

  unsigned choose_thread(const candidates& among) override {
    if (among.can_stay && std::find(falls_.begin(), falls_.end(), among.step) != falls_.end()) {
      priorities_[among.threads[0]] = --lowest_;
    }
    const auto highest =
        std::max_element(among.threads.begin(), among.threads.end(),
                         [this](auto a, auto b) { return priorities_[a] < priorities_[b]; });
    return static_cast<unsigned>(highest - among.threads.begin());
  }

 private:
  std::vector<std::size_t> falls_;
  std::array<int, most_threads> priorities_{};
  int lowest_ = 0;
};

class by_interludes_chooser final : public random_chooser {
 public:
  by_interludes_chooser(std::uint64_t seed, unsigned interludes, thread_id interrupted)
      : random_chooser(seed), at_(interludes), wanted_(interrupted) {}

  bool begin() override {
    (void)random_chooser::begin();
    longest_own_ = std::max(longest_own_, own_steps_);
    own_steps_ = 0;
    for (std::size_t& step : at_) {
      step = 1 + random_.below(longest_own_);
    }
    constexpr unsigned usual_threads = 4;
    interrupted_ =
        wanted_ != 0 ? wanted_ : static_cast<thread_id>(1 + random_.below(usual_threads));
    return true;
  }

  unsigned choose_thread(const candidates& among) override {
    const bool stays = among.can_stay && !among.free;
    if (stays && among.threads[0] != interrupted_) {
      return 0;
    }
    if (stays && std::find(at_.begin(), at_.end(), ++own_steps_) == at_.end()) {
      return 0;
    }
    return any_other(among);
  }

 private:
  /// Returns the index of the next thread. The interrupted thread continues only if no other thread
  /// can.
  unsigned any_other(const candidates& among) {
    const auto count = static_cast<unsigned>(among.threads.size());
    const unsigned first = random_.below(count);
    return among.threads[first] != interrupted_ ? first : (first + 1) % count;
  }

  std::vector<std::size_t> at_;
  thread_id wanted_;
  thread_id interrupted_ = 1;
  std::size_t own_steps_ = 0;
  std::size_t longest_own_ = 20;
};

}  // namespace

std::unique_ptr<chooser> by_interludes(std::uint64_t seed, unsigned interludes,
                                       thread_id interrupted) {
  return std::make_unique<by_interludes_chooser>(seed, interludes, interrupted);
}

std::unique_ptr<chooser> by_chance(std::uint64_t seed, bool solo) {
  return std::make_unique<by_chance_chooser>(seed, solo);
}

std::unique_ptr<chooser> by_priority(std::uint64_t seed, unsigned depth) {
  return std::make_unique<by_priority_chooser>(seed, depth);
}

}  // namespace model
