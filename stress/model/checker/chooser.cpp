#include "checker/chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace model {

namespace {

/// Searches depth first: repeats the choices of the previous execution up to the last choice that
/// has an untried alternative, and takes that alternative.
class depth_first_chooser final : public chooser {
 public:
  explicit depth_first_chooser(bounds limits) : limits_(limits) {}

  bool begin() override {
    if (!first_) {
      while (!path_.empty() && path_.back().pick + 1U >= path_.back().count) {
        path_.pop_back();
      }
      if (path_.empty()) {
        return false;
      }
      ++path_.back().pick;
    }
    first_ = false;
    at_ = 0;
    used_ = {0, 0, 0};
    return true;
  }

  unsigned choose(question asked, unsigned count, thread_id /*thread*/) override {
    if (asked == question::event) {
      return next(count);
    }
    const bool reorders = asked != question::failure;
    unsigned& used = reorders ? used_.reorderings : used_.failures;
    const bool spent = used == (reorders ? limits_.reorderings : limits_.failures);
    const unsigned pick = next(spent ? 1 : count);
    used += pick > 0 ? 1 : 0;
    return pick;
  }

  unsigned choose_thread(const candidates& among) override {
    const bool costs = among.can_stay && !among.free;
    const bool spent = costs && used_.preemptions == limits_.preemptions;
    const unsigned pick = next(spent ? 1 : static_cast<unsigned>(among.threads.size()));
    used_.preemptions += costs && pick > 0 ? 1 : 0;
    return pick;
  }

 private:
  struct choice {
    std::uint8_t count;
    std::uint8_t pick;
  };

  unsigned next(unsigned count) {
    if (count == 1) {
      return 0;
    }
    if (at_ == path_.size()) {
      path_.push_back({static_cast<std::uint8_t>(count), 0});
    }
    return path_[at_++].pick;
  }

  bounds limits_;
  bounds used_{};
  std::vector<choice> path_;
  std::size_t at_ = 0;
  bool first_ = true;
};

class replay_chooser final : public chooser {
 public:
  explicit replay_chooser(schedule choices) : choices_(std::move(choices)) {}

  bool begin() override {
    at_ = 0;
    return std::exchange(first_, false);
  }
  unsigned choose(question /*asked*/, unsigned count, thread_id /*thread*/) override {
    return next(count);
  }
  unsigned choose_thread(const candidates& among) override {
    return next(static_cast<unsigned>(among.threads.size()));
  }
  std::size_t step_of_solo() override { return choices_.solo; }

 private:
  unsigned next(unsigned count) {
    const std::size_t at = at_++;
    return at < choices_.picks.size() ? std::min<unsigned>(choices_.picks[at], count - 1) : 0;
  }

  schedule choices_;
  std::size_t at_ = 0;
  bool first_ = true;
};

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format("'{}' is no number of a schedule", text));
  }
  return value;
}

}  // namespace

std::unique_ptr<chooser> depth_first(bounds limits) {
  return std::make_unique<depth_first_chooser>(limits);
}

std::unique_ptr<chooser> replay(schedule choices) {
  return std::make_unique<replay_chooser>(std::move(choices));
}

std::string schedule::text() const {
  std::string text = solo > 0 ? fmt::format("s{};", solo) : "";
  const char* comma = "";
  for (std::size_t at = 0; at < picks.size(); ++at) {
    if (picks[at] > 0) {
      text += fmt::format("{}{}:{}", comma, at, picks[at]);
      comma = ",";
    }
  }
  return text.empty() ? "0:0" : text;
}

schedule schedule::parse(std::string_view text) {
  schedule parsed;
  if (text.starts_with('s')) {
    const std::size_t end = std::min(text.find(';'), text.size());
    parsed.solo = number(text.substr(1, end - 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::size_t colon = std::min(text.find(':'), end);
    const std::size_t at = number(text.substr(0, colon));
    const std::size_t pick = number(text.substr(std::min(colon + 1, end), end - colon - 1));
    constexpr std::size_t most_choices = 1U << 20U;
    if (at >= most_choices || pick > 255) {
      throw std::invalid_argument("a schedule with numbers beyond all bounds");
    }
    parsed.picks.resize(std::max(parsed.picks.size(), at + 1));
    parsed.picks[at] = static_cast<std::uint8_t>(pick);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parsed;
}

}  // namespace model
