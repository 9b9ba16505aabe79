// Fuzz target: one thread cache, and the steps of thieves in every window of its owner's steps.
//
// The first byte chooses the kind of cache. The invariant: an item is given out only if it was put
// in before and not given out since, and at the end nothing is missing. A pop gives an item to the
// owner, a claim to a thief.
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "fuzz/byte_reader.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "fuzz/windows.hpp"
#include "support/driven_slot_cache.hpp"

namespace {

using lido::cache_kind;
using lido::detail::slot_cache;
using lido::test::driven_slot_cache;

constexpr std::size_t item_count = 12;  // more than fit

class cache_session {
 public:
  cache_session(fuzz::byte_reader& input, cache_kind kind) : input_(input), cache_(kind) {
    fuzz::on_window([this] { rob(); });
  }
  cache_session(const cache_session&) = delete;
  cache_session& operator=(const cache_session&) = delete;
  ~cache_session() { fuzz::on_window(nullptr); }

  void play() {
    while (input_.more()) {
      switch (input_.below(7)) {
        case 0:
          push(input_.below(item_count));
          break;
        case 1:
          pop();
          break;
        case 2:
          rob();
          break;
        case 3:
          cache_.replace_cells();
          break;
        case 4:
          close();
          break;
        case 5:
          push(last_);
          break;
        default:
          fuzz::arm_window(1 + static_cast<unsigned>(input_.below(32)));
          break;
      }
    }
    finish();
  }

 private:
  void give_out(const void* item) {
    for (std::size_t i = 0; i < item_count; ++i) {
      if (lido::test::item(i + 1) == item) {
        fuzz::check(inside_[i], "an item is given out twice");
        inside_[i] = false;
        last_ = i;
        return;
      }
    }
    fuzz::broken("an item is given out that nobody put in");
  }

  void push(std::size_t which) {
    if (!inside_[which]) {
      inside_[which] = true;  // before the push, in the middle of which a thief may take it
      if (!cache_.push(lido::test::item(which + 1))) {
        give_out(lido::test::item(which + 1));  // full: back to the owner
      }
    }
  }

  bool pop() {
    const void* const item = cache_.pop();
    if (item != nullptr) {
      give_out(item);
    }
    return item != nullptr;
  }

  /// Runs one step of one of two thieves: announce, take over, claim or give up.
  void rob() {
    const std::size_t choice = input_.below(6);
    std::optional<slot_cache::control>& announced = announced_[choice % 2];
    if (!announced.has_value()) {
      const slot_cache::control seen =
          cache_.cache().state();  // read once: another thief may intervene
      if (seen.now() == slot_cache::phase::open || seen.now() == slot_cache::phase::revoking) {
        announced = cache_.cache().revoke(seen);
      }
    } else if (choice / 2 == 0) {
      cache_.cache().withdraw(*announced);
      announced.reset();
    } else {
      claim(*std::exchange(announced, std::nullopt));
    }
  }

  void claim(slot_cache::control announced) {
    // A claim has a window of its own; what the owner does in it must not concern a thief.
    if (const auto loot = cache_.harvest(announced)) {
      for (const void* const item : *loot) {
        give_out(item);
      }
    }
  }

  /// Empties the owner's cache and stops using it, as a thread does at its end.
  void close() {
    while (pop()) {
    }
    (void)cache_.cache().settle(cache_.kind());
    cache_.cache().close();
  }

  void finish() {
    fuzz::arm_window(0);
    while (pop()) {
    }
    for (const bool inside : inside_) {
      fuzz::check(!inside, "an item is lost");
    }
  }

  fuzz::byte_reader& input_;
  driven_slot_cache cache_;
  std::array<bool, item_count> inside_{};
  std::array<std::optional<slot_cache::control>, 2> announced_;
  std::size_t last_ = 0;  ///< the item that was given out last
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::byte_reader input(std::span(data, size));
  const bool locked = input.below(2) == 1;
  cache_session(input, locked ? cache_kind::locked : cache_kind::revocable).play();
  return 0;
}
