// Fuzz target: the depot, with whole operations in the windows of others.
//
// The first byte chooses the capacity. An operation in a window belongs to another thread that runs
// while the first is stopped, so this finds what a head word without a tag would do.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "fuzz/byte_reader.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "fuzz/windows.hpp"
#include "src/allocator/depot.hpp"

namespace {

using lido::detail::depot;
using lido::detail::magazine_size;
using lido::detail::most_per_trip;
using lido::detail::null_slot;
using lido::detail::slot_index;

class depot_session {
 public:
  depot_session(fuzz::byte_reader& input, std::uint32_t capacity)
      : input_(input), depot_(capacity, lido::detail::growth::none), out_(capacity, false) {
    fuzz::on_window([this] { come_between(); });
  }
  depot_session(const depot_session&) = delete;
  depot_session& operator=(const depot_session&) = delete;
  ~depot_session() { fuzz::on_window(nullptr); }

  void play() {
    while (input_.more()) {
      step();
    }
    fuzz::arm_window(0);
    while (take(most_per_trip) > 0) {
    }
    fuzz::check(held_.size() == out_.size(), "a slot is lost");
  }

 private:
  void step() {
    switch (input_.below(6)) {
      case 0:
        take_single();
        break;
      case 1:
        give_single(input_.byte());
        break;
      case 2:
        (void)take(1 + static_cast<std::uint32_t>(input_.below(most_per_trip)));
        break;
      case 3:
        give(input_.byte());
        break;
      case 4:
        compare();
        break;
      default:
        fuzz::arm_window(1 + static_cast<unsigned>(input_.below(64)));
        break;
    }
  }

  void come_between() {
    if (depth_ < 3) {
      ++between_;
      for (std::size_t steps = 1 + input_.below(4); steps > 0; --steps) {
        step();
      }
    }
  }

  void receive(slot_index slot) {
    fuzz::check(slot < out_.size(), "a slot does not exist");
    fuzz::check(!out_[slot], "a slot is handed out twice");
    out_[slot] = true;
    held_.push_back(slot);
  }

  /// Takes slots out of the model before they go back: in a window another thread may get them.
  std::vector<slot_index> let_go(std::size_t first, std::size_t count) {
    const auto begin = held_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    std::vector<slot_index> slots(begin, end);
    held_.erase(begin, end);
    for (const slot_index slot : slots) {
      out_[slot] = false;
    }
    return slots;
  }

  /// Runs `work`, a call of the depot; returns true if no other intervened.
  template <class Work>
  bool alone(const Work& work) {
    const unsigned before = between_;
    ++depth_;
    work();
    --depth_;
    return depth_ == 0 && before == between_;
  }

  /// Returns the depot_home of this depth, as if each depth were a thread.
  [[nodiscard]] lido::detail::depot_home home() const {
    return {depot_.shard_of(depth_ + 1), /*roams=*/depth_ == 2};
  }

  void take_single() {
    slot_index slot = null_slot;
    (void)alone([&] { slot = depot_.pop_single(home()); });
    if (slot != null_slot) {
      receive(slot);
    }
  }

  void give_single(std::size_t which) {
    if (!held_.empty()) {
      const slot_index slot = let_go(which % held_.size(), 1).front();
      (void)alone([&] { depot_.push_single(home(), slot); });
    }
  }

  std::uint32_t take(std::uint32_t want) {
    std::array<slot_index, most_per_trip> slots{};
    std::uint32_t count = 0;
    const bool all_free_seen = alone([&] { count = depot_.take(home(), slots, want); });
    fuzz::check(count <= std::max(want, magazine_size), "more slots than were asked for");
    fuzz::check(!all_free_seen || count > 0 || held_.size() == out_.size(),
                "nothing was found with a slot free");
    for (const slot_index slot : std::span(slots).first(count)) {
      receive(slot);
    }
    return count;
  }

  void give(std::size_t count) {
    const std::vector<slot_index> slots =
        let_go(0, std::min({count, held_.size(), std::size_t{most_per_trip}}));
    (void)alone([&] { depot_.give(home(), slots); });
  }

  void compare() {
    const fuzz::closed_windows closed;
    fuzz::check(depth_ > 0 || depot_.empty() == (held_.size() == out_.size()),
                "empty() errs at rest");
  }

  fuzz::byte_reader& input_;
  depot depot_;
  std::vector<bool> out_;
  std::vector<slot_index> held_;
  unsigned depth_ = 0;    ///< calls that have begun and not ended
  unsigned between_ = 0;  ///< times that something intervened
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::byte_reader input(std::span(data, size));
  const std::uint32_t choice = input.byte();
  // Large ones have shards.
  const std::uint32_t capacity =
      choice < 128 ? 1 + choice : lido::detail::tuning::slots_for_shards + choice;
  depot_session(input, capacity).play();
  return 0;
}
