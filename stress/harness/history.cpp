#include "harness/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <tuple>

namespace stress {

namespace {

std::optional<std::string> malformed(const history& what, std::size_t slots) {
  for (const holding& held : what.holdings) {
    if (held.slot >= slots || held.acquire_call > held.acquire_return ||
        held.acquire_return > held.release_call || held.release_call > held.release_return) {
      return fmt::format("slot {} was held from {} .. {} to {} .. {}", held.slot, held.acquire_call,
                         held.acquire_return, held.release_call, held.release_return);
    }
  }
  for (const refusal& refused : what.refusals) {
    if (refused.call > refused.answer) {
      return fmt::format("a call of {} was refused at {}", refused.call, refused.answer);
    }
  }
  return std::nullopt;
}

// Sorts by slot and start, so that any overlap shows between neighbours.
std::optional<std::string> two_owners(std::vector<holding> holdings) {
  std::sort(holdings.begin(), holdings.end(), [](const holding& a, const holding& b) {
    return std::tie(a.slot, a.acquire_return) < std::tie(b.slot, b.acquire_return);
  });
  const auto overlap = std::adjacent_find(
      holdings.begin(), holdings.end(), [](const holding& first, const holding& second) {
        return first.slot == second.slot && second.acquire_return < first.release_call;
      });
  if (overlap == holdings.end()) {
    return std::nullopt;
  }
  return fmt::format("slot {} had two owners: until {} and from {}", overlap->slot,
                     overlap->release_call, std::next(overlap)->acquire_return);
}

/// A change at one instant. At equal instants, begins come before requests, and requests before
/// ends: calls that touch count as overlapping, in favour of the pool.
struct change {
  enum class kind : std::uint8_t { begin, ask, end };

  instant when;
  kind what;
  std::uint32_t slot;  ///< slot that begins or ends
  instant since;       ///< call of the request that was refused now
};

std::vector<change> changes_of(const history& what) {
  std::vector<change> changes;
  changes.reserve(2 * what.holdings.size() + what.refusals.size());
  for (const holding& held : what.holdings) {
    changes.push_back({held.acquire_call, change::kind::begin, held.slot, 0});
    changes.push_back({held.release_return, change::kind::end, held.slot, 0});
  }
  for (const refusal& refused : what.refusals) {
    changes.push_back({refused.answer, change::kind::ask, 0, refused.call});
  }
  std::sort(changes.begin(), changes.end(), [](const change& a, const change& b) {
    return std::tie(a.when, a.what) < std::tie(b.when, b.what);
  });
  return changes;
}

/// Sweeps through time and tracks how many slots may be out.
class sweep {
 public:
  explicit sweep(std::size_t slots) : may_be_out_(slots) {}

  void begin(std::uint32_t slot) { out_ += may_be_out_[slot]++ == 0 ? 1 : 0; }

  void end(std::uint32_t slot, instant when) {
    if (all_out()) {
      was_all_out_ = true;
      last_all_out_ = when;
    }
    out_ -= --may_be_out_[slot] == 0 ? 1 : 0;
  }

  [[nodiscard]] bool all_out() const { return out_ == may_be_out_.size(); }
  [[nodiscard]] std::size_t out() const { return out_; }

  /// Returns whether all slots may have been out at some moment from `since` to now.
  [[nodiscard]] bool all_out_since(instant since) const {
    return all_out() || (was_all_out_ && last_all_out_ >= since);
  }

 private:
  std::vector<std::uint32_t> may_be_out_;  ///< number of holdings that may last now, by slot
  std::size_t out_ = 0;                    ///< slots with at least one
  bool was_all_out_ = false;
  instant last_all_out_ = 0;
};

std::optional<std::string> wrong_refusal(const history& what, std::size_t slots) {
  sweep time(slots);
  for (const change& next : changes_of(what)) {
    switch (next.what) {
      case change::kind::begin:
        time.begin(next.slot);
        break;
      case change::kind::end:
        time.end(next.slot, next.when);
        break;
      case change::kind::ask:
        if (!time.all_out_since(next.since)) {
          return fmt::format(
              "an acquire was refused between {} and {}, and at no moment all {} slots were out "
              "({} at its end)",
              next.since, next.when, slots, time.out());
        }
        break;
    }
  }
  return std::nullopt;
}

}  // namespace

instant now() noexcept {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<instant>(time.tv_sec) * 1'000'000'000U + static_cast<instant>(time.tv_nsec);
}

void history::append(const history& other) {
  holdings.insert(holdings.end(), other.holdings.begin(), other.holdings.end());
  refusals.insert(refusals.end(), other.refusals.begin(), other.refusals.end());
}

std::optional<std::string> impossible_in(const history& what, std::size_t slots) {
  if (auto problem = malformed(what, slots)) {
    return problem;
  }
  if (auto problem = two_owners(what.holdings)) {
    return problem;
  }
  return wrong_refusal(what, slots);
}

}  // namespace stress
