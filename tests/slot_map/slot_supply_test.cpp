#include "lido/slot_map/slot_supply.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace lido::detail {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t all_slots = 8;
alignas(64) std::array<std::byte, std::size_t{64} * all_slots> storage;  // NOLINT: addresses only

slot_supply make_supply() {
  return slot_supply(slot_geometry(storage.data(), 64), all_slots, 0);
}

/// Takes a slot while another thread has all of them in its census, and `hold(note, over)` is what
/// that thread does with them. Returns whether there was one.
template <class Hold>
bool take_beside_census(slot_supply& supply, const Hold& hold) {
  std::atomic<bool> held{false};
  std::atomic<bool> over{false};
  std::thread holder([&] {
    supply.lower_end(
        [&](std::uint32_t /*end*/, std::uint32_t /*before*/, const auto& note) noexcept {
          held = true;
          hold(note, over);
        });
  });
  while (!held) {
    std::this_thread::yield();
  }
  void* const slot = supply.take();
  over = true;
  holder.join();
  if (slot != nullptr) {
    supply.give_back(slot);
  }
  return slot != nullptr;
}

TEST(SlotSupply, AHolderThatNotesProgressIsWaitedFor) {
  slot_supply supply = make_supply();
  // Several times as long as a wait without progress takes. On a busy machine the holder may
  // come to a standstill for as long, but not each time.
  bool waited = false;
  for (int attempt = 0; attempt < 5 && !waited; ++attempt) {
    waited = take_beside_census(supply, [](const auto& note, const auto& over) {
      const auto until = steady_clock::now() + std::chrono::milliseconds(500);
      while (!over && steady_clock::now() < until) {
        note();
        std::this_thread::yield();
      }
    });
  }
  EXPECT_TRUE(waited);
}

TEST(SlotSupply, AHolderThatStandsStillIsNot) {
  slot_supply supply = make_supply();
  EXPECT_FALSE(take_beside_census(supply, [](const auto& /*note*/, const auto& over) {
    while (!over) {
      std::this_thread::yield();
    }
  }));
  for (std::uint32_t i = 0; i < all_slots; ++i) {
    EXPECT_NE(supply.take(), nullptr);
  }
  EXPECT_EQ(supply.take(), nullptr);
}

// Somebody takes all slots for a moment, again and again.
TEST(SlotSupply, ATakeDoesNotWaitForEver) {
  constexpr int too_many = 20'000;  // some seconds
  slot_supply supply = make_supply();
  while (supply.take() != nullptr) {
  }
  std::atomic<int> censuses{0};
  std::atomic<bool> over{false};
  std::thread holder([&] {
    while (!over && censuses < too_many) {
      supply.lower_end(
          [&](std::uint32_t /*end*/, std::uint32_t /*before*/, const auto& /*note*/) noexcept {
            ++censuses;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
          });
    }
  });
  while (censuses == 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(supply.take(), nullptr);
  EXPECT_LT(censuses, too_many);
  over = true;
  holder.join();
}

}  // namespace
}  // namespace lido::detail
