// Uses that other threads end: `flush` and `kill` with ongoing_uses::interrupt.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_server;

constexpr auto cut = ongoing_uses::interrupt;

/// State that the wires of a test share.
struct exchange_office {
  fake_server server;
  std::atomic<int> interrupts{0};
  std::atomic<bool> slow_interrupt{false};
  std::atomic<std::thread::id> interrupted_by;
  std::atomic<bool> moves_throw{false};
  std::function<void()> in_interrupt;
};

/// A connection whose user waits for an answer that never comes.
class wire {
 public:
  explicit wire(exchange_office& office) : office_(&office) {}
  wire(wire&& other) : office_(other.office_), is_cut_(other.is_cut_.load()) {
    if (office_->moves_throw) {
      throw std::runtime_error("moved");
    }
  }
  wire& operator=(wire&&) = delete;
  ~wire() = default;

  void wait_for_an_answer() const {
    if (!eventually([this] { return is_cut_.load(); })) {
      ADD_FAILURE() << "nobody interrupts";
    }
    throw std::runtime_error("hung up");
  }
  void shut_down() noexcept { is_cut_ = true; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  exchange_office* office_;
  std::atomic<bool> is_cut_{false};
};

struct mute_factory {
  exchange_office* office;

  [[nodiscard]] wire create() const {
    ++office->server.creates;
    return wire(*office);
  }
  [[nodiscard]] wire create(int /*key*/) const { return create(); }
  void destroy(wire& /*ended*/, destroy_reason reason) const noexcept {
    ++office->server.destroyed.at(static_cast<std::size_t>(reason));
  }
};

struct wire_factory : mute_factory {
  void interrupt(wire& used) const noexcept {
    ++office->interrupts;
    office->interrupted_by = std::this_thread::get_id();
    used.shut_down();
    if (office->in_interrupt) {
      office->in_interrupt();
    }
    test::wait_while(office->slow_interrupt);
  }
};

using wire_pool = resource_pool<wire>;
using wires_by_key = keyed_resource_pool<int, wire>;

class ResourceInterrupts : public ::testing::TestWithParam<maintenance> {
 protected:
  [[nodiscard]] resource_pool_options options(std::size_t size) const {
    return {.max_size = size, .maintenance = GetParam()};
  }
  [[nodiscard]] int destroyed() const {
    int all = 0;
    for (const auto& one : office.server.destroyed) {
      all += one;
    }
    return all;
  }

  exchange_office office;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};
INSTANTIATE_TEST_SUITE_P(EachMode, ResourceInterrupts,
                         ::testing::Values(maintenance::background, maintenance::own_threads,
                                           maintenance::by_tick));

TEST_P(ResourceInterrupts, AUserThatWaitsIsToldAndItsResourceEnds) {
  for (const bool by_flush : {false, true}) {
    wire_pool pool(wire_factory{{&office}}, options(1));
    const int before = destroyed();
    std::atomic<bool> is_using{false};
    resource_handle handle;
    std::thread user([&] {
      wire_pool::lease_type held = pool.acquire_for(20s);
      handle = held.handle();
      is_using = true;
      EXPECT_THROW(held->wait_for_an_answer(), std::runtime_error);
    });
    ASSERT_TRUE(eventually([&] { return is_using.load(); }));
    by_flush ? pool.flush(cut) : (void)pool.kill(handle, cut);
    EXPECT_EQ(office.interrupted_by.load(), std::this_thread::get_id());
    user.join();
    EXPECT_TRUE(eventually([&] { return destroyed() == before + 1; }));
    EXPECT_FALSE(pool.acquire_for(20s)->is_cut());
  }
  EXPECT_EQ(office.interrupts, 2);
}

/// A use may end in each way while the hook runs.
TEST_P(ResourceInterrupts, AResourceIsNotDestroyedWhileItIsInterrupted) {
  void (*const ends[])(wire_pool::lease_type&) = {
      [](wire_pool::lease_type& held) { held.reset(); },
      [](wire_pool::lease_type& held) { held.discard(); },
  };
  for (const auto& end : ends) {
    wire_pool pool(wire_factory{{&office}}, options(1));
    const int before = destroyed();
    office.slow_interrupt = true;
    wire_pool::lease_type held = pool.acquire_for(20s);
    const resource_handle handle = held.handle();
    std::thread operator_thread([&] { EXPECT_TRUE(pool.kill(handle, cut)); });
    ASSERT_TRUE(eventually([&] { return held->is_cut(); }));
    EXPECT_TRUE(pool.kill(handle, cut));  // twice: the hook runs already
    pool.flush(cut);
    end(held);
    EXPECT_FALSE(pool.kill(handle, cut));
    EXPECT_FALSE(pool.try_acquire());
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(destroyed(), before);
    EXPECT_EQ(pool.stats().closing, 1U);
    office.slow_interrupt = false;
    operator_thread.join();
    EXPECT_TRUE(eventually([&] { return destroyed() == before + 1; }));
    EXPECT_TRUE(pool.acquire_for(20s));
  }
  EXPECT_EQ(office.interrupts, 2);
}

TEST_P(ResourceInterrupts, ADetachWaitsForTheInterrupt) {
  wire_pool pool(wire_factory{{&office}}, options(1));
  office.slow_interrupt = true;
  wire_pool::lease_type held = pool.acquire_for(20s);
  const resource_handle handle = held.handle();
  std::thread operator_thread([&] { pool.flush(cut); });
  ASSERT_TRUE(eventually([&] { return held->is_cut(); }));
  std::atomic<bool> is_out{false};
  std::thread user([&] {
    EXPECT_TRUE(held.detach().is_cut());
    is_out = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(is_out);
  office.slow_interrupt = false;
  user.join();
  operator_thread.join();
  EXPECT_FALSE(pool.kill(handle, cut));
  EXPECT_EQ(destroyed(), 0);
  EXPECT_EQ(pool.stats().detached, 1U);
  EXPECT_FALSE(pool.acquire_for(20s)->is_cut());
}

TEST_P(ResourceInterrupts, AUseWhoseDetachHasThrownIsInterruptedAsBefore) {
  wire_pool pool(wire_factory{{&office}}, options(1));
  wire_pool::lease_type held = pool.acquire_for(20s);
  office.moves_throw = true;
  EXPECT_THROW((void)held.detach(), std::runtime_error);
  office.moves_throw = false;
  EXPECT_TRUE(pool.kill(held.handle(), cut));
  EXPECT_TRUE(held->is_cut());
  EXPECT_TRUE(held.detach().is_cut());
}

TEST_P(ResourceInterrupts, NothingElseIsInterrupted) {
  wire_pool pool(wire_factory{{&office}}, options(2));
  wire_pool::lease_type held = pool.acquire_for(20s);
  wire_pool::lease_type other = pool.acquire_for(20s);
  const resource_handle idle = other.handle();
  other.reset();
  pool.flush();  // lets uses finish
  EXPECT_FALSE(pool.kill(idle, cut));
  EXPECT_TRUE(pool.kill(held.handle()));
  EXPECT_FALSE(pool.kill({.index = 1000, .birth = 1}, cut));
  EXPECT_FALSE(pool.kill({}, cut));
  EXPECT_EQ(office.interrupts, 0);
  EXPECT_TRUE(
      eventually([&] { return office.server.destroyed_for(destroy_reason::flushed) == 1; }));
  held.reset();

  resource_pool<wire> mute(mute_factory{&office}, options(1));  // its factory has no such hook
  const auto used = mute.acquire_for(20s);
  EXPECT_TRUE(mute.kill(used.handle(), cut));
  mute.flush(cut);
  EXPECT_FALSE(used->is_cut());
}

TEST_P(ResourceInterrupts, ALeaseThatKeepsAPoolFromItsEndIsInterrupted) {
  wire_pool pool(wire_factory{{&office}}, options(1));
  wire_pool::lease_type held = pool.acquire_for(20s);
  EXPECT_FALSE(pool.close(0s).complete());
  pool.flush(cut);
  EXPECT_TRUE(held->is_cut());
  held.reset();
  EXPECT_TRUE(pool.close(20s).complete());
  EXPECT_EQ(office.server.destroyed_for(destroy_reason::closed), 1);
  pool.flush(cut);
  EXPECT_EQ(office.interrupts, 1);
}

TEST_P(ResourceInterrupts, AFlushOfAKeyInterruptsItsUsesAlone) {
  keyed_resource_pool_options how{.max_total = 4};
  how.each_key = options(2);
  wires_by_key pool(wire_factory{{&office}}, how);
  const auto one = pool.at(1).acquire_for(20s);
  const auto two = pool.at(2).acquire_for(20s);
  pool.at(3).flush(cut);  // unknown
  EXPECT_EQ(office.interrupts, 0);
  pool.at(1).flush(cut);
  EXPECT_TRUE(one->is_cut());
  EXPECT_FALSE(two->is_cut());
  EXPECT_TRUE(pool.kill(two.handle(), cut));
  EXPECT_TRUE(two->is_cut());
  pool.flush(cut);
  EXPECT_EQ(office.interrupts, 4);  // each again: their uses continue
}

TEST_P(ResourceInterrupts, TheHookMayUseThePool) {
  wire_pool pool(wire_factory{{&office}}, options(2));
  wire_pool::lease_type held = pool.acquire_for(20s);
  office.in_interrupt = [&] {
    EXPECT_EQ(pool.stats().in_use, 1U);
    EXPECT_TRUE(pool.kill(held.handle(), cut));  // not from within itself
    pool.flush(cut);
    held.reset();
    EXPECT_EQ(destroyed(), 0);
  };
  pool.flush(cut);
  EXPECT_EQ(office.interrupts, 1);
  EXPECT_TRUE(eventually([&] { return destroyed() == 1; }));
  office.in_interrupt = nullptr;
}

/// Users end their uses during interrupts of all kinds.
TEST_P(ResourceInterrupts, UsersThatComeAndGoLoseNoResource) {
  wire_pool pool(wire_factory{{&office}}, options(2));
  std::atomic<bool> over{false};
  const auto use = [&](int turn) {
    while (!over) {
      wire_pool::lease_type held = pool.acquire_for(20s);
      switch (turn++ % 3) {
        case 0:
          (void)pool.kill(held.handle(), turn % 2 == 0 ? cut : ongoing_uses::finish);
          break;
        case 1:
          (void)held.detach();
          break;
        default:
          break;
      }
    }
  };
  std::thread first(use, 0);
  std::thread second(use, 1);
  for (int i = 0; i < 300; ++i) {
    pool.flush(cut);
  }
  over = true;
  first.join();
  second.join();
  ASSERT_TRUE(pool.close(20s).complete());
  const auto stats = pool.stats();
  EXPECT_EQ(stats.live, 0U);
  EXPECT_EQ(stats.created, stats.detached + static_cast<std::uint64_t>(destroyed()));
}

}  // namespace
}  // namespace lido
