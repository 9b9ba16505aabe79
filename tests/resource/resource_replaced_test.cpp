// A factory is replaced while its creates hang, as in a fail-over from a host that does not answer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

/// Of a host that does not answer.
struct silence {
  std::atomic<bool> lasts{true};
  std::atomic<int> begun{0};
  std::atomic<int> told{0};  ///< to stop
};
struct silent_factory {
  silence* of;
  bool heeds = false;    ///< what it is told
  bool answers = false;  ///< in the end
  [[nodiscard]] test::connection create(const create_context& context) const {
    ++of->begun;
    while (of->lasts && !(heeds && context.stop.stop_requested())) {
      std::this_thread::sleep_for(1ms);
      of->told += context.stop.stop_requested() ? 1 : 0;
    }
    std::this_thread::sleep_for(20ms);
    if (answers) {
      return {};
    }
    throw std::runtime_error("no answer");
  }
};

class ResourceReplaced : public testing::TestWithParam<maintenance> {
 protected:
  // NOLINTBEGIN(*-non-private-member-variables-in-classes): what each test sets
  test::fake_server next_;
  silence old_;
  // NOLINTEND(*-non-private-member-variables-in-classes)
};

// They are told to stop, and hold up nobody if they do not.
TEST_P(ResourceReplaced, CreatesOfTheOldOneHoldUpNobody) {
  fake_pool pool(silent_factory{&old_}, {.max_size = 4, .max_creating = 2, .upkeep = GetParam()});
  std::vector<std::jthread> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.emplace_back([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
  }
  ASSERT_TRUE(eventually([&] { return old_.begun == 2; }));
  pool.replace_factory(test::fake_factory{&next_});
  EXPECT_TRUE(eventually([&] { return old_.told > 0; }));
  EXPECT_TRUE(pool.acquire_for(10s));
  EXPECT_GE(pool.stats().creating, 2U);
  old_.lasts = false;
  waiting.clear();
  std::vector<fake_lease> all(4);
  for (fake_lease& one : all) {
    one = pool.acquire_for(10s);
    EXPECT_TRUE(one);
  }
}

// One for who waits and one for who tries: what they make is flushed, and is under way no more.
TEST_P(ResourceReplaced, WhatTheOldOneMakesTooLateCountsNoMore) {
  fake_pool pool(silent_factory{&old_, /*heeds=*/false, /*answers=*/true},
                 {.max_size = 4, .max_creating = 2, .upkeep = GetParam()});
  std::jthread trying([&] { (void)pool.try_acquire(); });
  ASSERT_TRUE(eventually([&] { return old_.begun == 1; }));
  std::jthread waiting([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
  pool.replace_factory(test::fake_factory{&next_});
  old_.lasts = false;
  trying.join();
  waiting.join();
  for (int i = 0; i < 2; ++i) {
    std::vector<fake_lease> all(4);
    for (fake_lease& one : all) {
      one = pool.acquire_for(10s);
      EXPECT_TRUE(one);
    }
    EXPECT_EQ(pool.stats().creating, 0U);
    pool.flush();
  }
}

TEST_P(ResourceReplaced, ACallbackDoesNotWaitForAThreadInACreateOfTheOldOne) {
  fake_pool pool(silent_factory{&old_}, {.max_size = 2, .max_creating = 1, .upkeep = GetParam()});
  std::jthread waiting([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
  ASSERT_TRUE(eventually([&] { return old_.begun == 1; }));
  std::atomic<bool> served{false};
  pool.async_acquire([&](const fake_lease& got, const std::exception_ptr&) { served = !!got; },
                     20s);
  pool.replace_factory(test::fake_factory{&next_});
  EXPECT_TRUE(eventually([&] { return served.load(); }));
  old_.lasts = false;
}

TEST_P(ResourceReplaced, ACallbackIsServedAfterACreateForATryHasFailed) {
  fake_pool pool(silent_factory{&old_, /*heeds=*/true}, {.max_size = 1, .upkeep = GetParam()});
  std::jthread trying([&] { EXPECT_FALSE(pool.try_acquire()); });
  ASSERT_TRUE(eventually([&] { return old_.begun == 1; }));
  std::atomic<bool> served{false};
  pool.async_acquire([&](const fake_lease& got, const std::exception_ptr&) { served = !!got; },
                     20s);
  pool.replace_factory(test::fake_factory{&next_});
  EXPECT_TRUE(eventually([&] { return served.load(); }));
}

TEST_P(ResourceReplaced, AnErrorDoesNotNameWhatTheOldOneThrew) {
  test::fake_server old;
  old.wrong_password = true;
  fake_pool pool(test::fake_factory{&old}, {.max_size = 2, .upkeep = GetParam()});
  EXPECT_EQ(test::failure_of(pool, 10s), acquire_failure::create_failed);
  pool.resize(0);
  pool.replace_factory(test::fake_factory{&next_});
  try {
    (void)pool.acquire_for(50ms);
    ADD_FAILURE() << "there is no room";
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.create_error(), nullptr) << error.what();
    EXPECT_EQ(error.cause(), acquire_failure::timed_out);
  }
  pool.resize(2);
  EXPECT_TRUE(pool.acquire_for(20s));
}

TEST_P(ResourceReplaced, ThePermanentErrorOfTheNewOneIsToldBesideACreateOfTheOldOne) {
  fake_pool pool(silent_factory{&old_}, {.max_size = 4,
                                         .max_creating = 1,
                                         .retry_first = 100s,
                                         .retry_longest = 100s,
                                         .upkeep = GetParam()});
  std::jthread waiting([&] { EXPECT_THROW((void)pool.acquire_for(20s), acquire_error); });
  ASSERT_TRUE(eventually([&] { return old_.begun == 1; }));
  next_.wrong_password = true;
  pool.replace_factory(test::fake_factory{&next_});
  try {
    (void)pool.acquire_for(20s);
    ADD_FAILURE() << "there is nothing to be had";
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::create_failed);
  }
  old_.lasts = false;
  waiting.join();
  EXPECT_TRUE(eventually([&] { return pool.stats().creating == 0; }));
  try {
    (void)pool.acquire_for(5ms);
  } catch (const acquire_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("wrong password"), std::string::npos) << text;
  }
}

// A list of hosts, of which the last one answers.
TEST_P(ResourceReplaced, SeveralThatHangHoldUpNobody) {
  std::array<silence, 3> hosts;
  fake_pool pool(silent_factory{&hosts[0]},
                 {.max_size = 4, .max_creating = 1, .upkeep = GetParam()});
  std::vector<std::jthread> waiting;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    waiting.emplace_back([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
    ASSERT_TRUE(eventually([&] { return hosts.at(i).begun == 1; })) << i;
    if (i + 1 < hosts.size()) {
      pool.replace_factory(silent_factory{&hosts.at(i + 1)});
    } else {
      pool.replace_factory(test::fake_factory{&next_});
    }
  }
  EXPECT_TRUE(pool.acquire_for(10s));
  for (silence& host : hosts) {
    host.lasts = false;
  }
  waiting.clear();
  EXPECT_TRUE(eventually([&] { return pool.stats().creating == 0; }));
  std::vector<fake_lease> all(4);
  for (fake_lease& one : all) {
    one = pool.acquire_for(10s);
    EXPECT_TRUE(one);
  }
}

// Nor do they have the threads that ask what the new one has made.
TEST(ResourceReplacedQuestions, OfTheOldOneHoldUpNobody) {
  test::fake_server old;
  test::fake_server next;
  fake_pool pool(test::fake_factory{&old},
                 {.max_size = 4, .validate_if_idle_longer_than = 0ns, .max_creating = 1});
  { const std::array<fake_lease, 2> both{pool.acquire_for(20s), pool.acquire_for(20s)}; }
  old.slow_validate = true;
  std::array<test::outcome, 3> told;
  pool.async_acquire(told[0].receiver(), 20s);
  pool.async_acquire(told[1].receiver(), 20s);
  ASSERT_TRUE(eventually([&] { return old.validations == 2; }));  // these are all that may ask
  pool.replace_factory(test::fake_factory{&next});
  ASSERT_TRUE(eventually([&] { return told[0].calls == 1 && told[1].calls == 1; }));
  EXPECT_EQ(next.creates, 2);
  told[0].lease.reset();
  told[1].lease.reset();
  pool.async_acquire(told[2].receiver(), 20s);
  EXPECT_TRUE(eventually([&] { return told[2].calls == 1; }));
  EXPECT_TRUE(told[2].lease) << "though the server has answered";
  EXPECT_GE(next.validations, 1);
  told[2].lease.reset();
  old.slow_validate = false;
  EXPECT_TRUE(eventually([&] { return old.alive == 0; }));
  for (int i = 0; i < 3; ++i) {  // and what has ended late leaves the counts as they were
    EXPECT_TRUE(pool.acquire_for(20s));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ResourceReplaced,
                         testing::Values(maintenance::background, maintenance::by_callers));

}  // namespace
}  // namespace lido
