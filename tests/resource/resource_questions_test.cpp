// What threads of the pool are asked to do at the same time: to make, to ask, to keep alive. None
// of it waits for an answer to something else.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

#include "lido/keyed_resource_pool.hpp"
#include "support/crew.hpp"
#include "support/distant_peer.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::distant;
using test::eventually;
using test::long_stay;

using ResourceQuestions = test::DistantPeer;

// What it was made for is there: the next one who waits has another one made.
TEST_F(ResourceQuestions, ACallbackThatTakesLongIsNoCreateUnderWay) {
  links pool(distant{&all}, {.max_size = 4});
  long_stay callback;
  callback.begin(pool);
  EXPECT_EQ(pool.stats().creating, 0U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NO_THROW((void)pool.acquire_for(30s));
  }
  callback.end();
}

TEST_F(ResourceQuestions, ACallbackThatTakesLongIsNoQuestionUnderWay) {
  links pool(distant{&all},
             {.max_size = 2, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 2);
  long_stay callback;
  callback.begin(pool);
  EXPECT_NO_THROW((void)pool.acquire_for(30s)) << "one to be asked is idle";
  callback.end();
}

TEST_F(ResourceQuestions, D6NoMoreAreKeptAliveAtOnceThanMayBeMade) {
  links pool(distant{&all}, {.max_size = 8,
                             .validate_timeout = 60s,
                             .keepalive = 20ms,
                             .validate_if_idle_longer_than = 1h,
                             .max_creating = 2});
  let_grow_stale(pool, 8);
  all.silent = 8;
  EXPECT_TRUE(eventually([&] { return pool.stats().checking == 2; }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(pool.stats().checking, 2U);
  EXPECT_EQ(pool.stats().idle, 6U);
  all.silent = 0;
}

// Also where the one to be made takes the last room that there is.
TEST_F(ResourceQuestions, SilentOnesLeaveAThreadThatMakesAnother) {
  for (const int idle : {1, 2, 3}) {
    all.made = 0;
    all.silent = idle;
    links pool(distant{&all},
               {.max_size = 4, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
    let_grow_stale(pool, static_cast<std::size_t>(idle));
    EXPECT_NO_THROW((void)pool.acquire_for(30s)) << idle << " of 4 are idle";
    all.silent = 0;
  }
}

TEST_F(ResourceQuestions, SilentOnesLeaveAThreadThatReplacesOneThatIsGone) {
  links pool(distant{&all},
             {.max_size = 4, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
  resource_lease<int> held = pool.acquire();
  let_grow_stale(pool, 3);
  all.silent = 4;
  std::atomic<int> served{0};
  count_calls(pool, 1, served);
  EXPECT_TRUE(eventually([&] { return pool.stats().checking == 2; }));
  std::move(held).discard();
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  all.silent = 0;
}

// Up to the next look at idle resources it would take a second. On a busy machine it may anyway.
TEST_F(ResourceQuestions, ACallbackWaitsForASilentOneNoLongerThanAThread) {
  bool in_time = false;
  for (int attempt = 0; attempt < 10 && !in_time; ++attempt) {
    all.made = 0;
    all.silent = 1;
    links pool(distant{&all},
               {.max_size = 2, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
    let_grow_stale(pool, 1);
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<int> served{0};
    count_calls(pool, 1, served);
    EXPECT_TRUE(eventually([&] { return served == 1; }));
    in_time = std::chrono::steady_clock::now() - begin < 500ms;
    all.silent = 0;
  }
  EXPECT_TRUE(in_time);
}

// Who was behind one that left it to the pool to ask may have the time itself.
TEST_F(ResourceQuestions, WhoIsNextTakesWhatTheOneBeforeLeftToThePool) {
  links pool(distant{&all},
             {.max_size = 3, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 3);
  all.silent = 2;
  std::stop_source stop;
  std::atomic<bool> is_told{false};
  pool.async_acquire([&](const resource_lease<int>&, const std::exception_ptr&) { is_told = true; },
                     1h, stop.get_token());
  EXPECT_TRUE(eventually([&] { return pool.stats().checking == 2; }));
  std::thread patient([&] { EXPECT_EQ(*pool.acquire_for(1h), 3); });
  EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  stop.request_stop();
  patient.join();
  EXPECT_TRUE(is_told);
  all.silent = 0;
}

// All threads that there are wait for answers: then one more looks for what is to be ended.
TEST_F(ResourceQuestions, SilentOnesLeaveAThreadThatEndsOthers) {
  links pool(distant{&all}, {.max_size = 4,
                             .validate_timeout = 60s,
                             .idle_timeout = 300ms,
                             .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 4);
  all.silent = 4;
  std::atomic<int> served{0};
  count_calls(pool, 1, served);
  EXPECT_TRUE(eventually([&] { return served == 1; })) << "in the room of one that has ended";
  all.silent = 0;
}

// A question that merely keeps something alive is one of them.
TEST_F(ResourceQuestions, ASilentKeepaliveHoldsUpNobody) {
  links pool(distant{&all}, {.max_size = 4,
                             .validate_timeout = 60s,
                             .keepalive = 20ms,
                             .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 2);
  all.silent = 2;
  EXPECT_TRUE(eventually([&] { return pool.stats().checking != 0; }));
  EXPECT_NO_THROW((void)pool.acquire_for(30s));
  all.silent = 0;
}

TEST_F(ResourceQuestions, ASilentKeepaliveLetsOthersEnd) {
  test::manual_clock clock;
  links pool(distant{&all}, {.max_size = 4,
                             .validate_timeout = 60s,
                             .idle_timeout = 300ms,
                             .keepalive = 20ms,
                             .clock = &clock});
  let_grow_stale(pool, 4);
  all.silent = 4;
  clock.advance(20ms);
  EXPECT_TRUE(eventually([&] { return pool.stats().checking == 1; }));
  clock.advance(300ms);
  EXPECT_TRUE(eventually([&] { return pool.stats().live == 1; }));
  EXPECT_EQ(pool.stats().checking, 1U);
  all.silent = 0;
}

// As many questions may be under way as creates, and one more; the others of five need no answer.
TEST_F(ResourceQuestions, AHealthyOneIsFoundBehindSilentOnes) {
  links pool(distant{&all},
             {.max_size = 5, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 5);
  all.silent = 2;
  const resource_lease<int> found = pool.acquire_for(30s);
  EXPECT_GT(*found, 2);
  all.silent = 0;
}

// One user, who needs one resource at a time, has one, however often it has to be asked. An answer
// that took longer than some time would let the pool make another one, and on a slow machine does.
TEST_F(ResourceQuestions, AnAnswerOnItsWayIsNoReasonToMakeMore) {
  for (const std::size_t min_idle : {std::size_t{0}, std::size_t{4}}) {
    all.made = 0;
    links pool(distant{&all}, {.max_size = 40,
                               .min_idle = min_idle,
                               .validate_timeout = 60s,
                               .validate_if_idle_longer_than = 0ns});
    EXPECT_TRUE(eventually([&] { return pool.stats().idle >= min_idle; }));
    std::atomic<int> served{0};
    int slow = 0;
    for (int round = 1; round <= 30; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      count_calls(pool, 1, served);
      EXPECT_TRUE(eventually([&] { return served == round; }));
      EXPECT_NO_THROW((void)pool.acquire_for(30s));
      slow += std::chrono::steady_clock::now() - begin > 20ms ? 1 : 0;
    }
    EXPECT_LE(all.made, 15 + 2 * slow) << "with min_idle " << min_idle;
  }
}

TEST_F(ResourceQuestions, AsManyMoreMayWaitAsThereAreAnswers) {
  links pool(distant{&all}, {.max_size = 2,
                             .max_waiters = 1,
                             .validate_timeout = 60s,
                             .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 2);
  all.silent = 2;
  std::atomic<int> served{0};
  count_calls(pool, 3, served);
  try {
    (void)pool.acquire_for(4s);
    ADD_FAILURE() << "there is no fourth answer";
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::too_many_waiters);
  }
  all.silent = 0;
  EXPECT_TRUE(eventually([&] { return served == 3; }));
}

// It says yes, but has been flushed meanwhile.
TEST_F(ResourceQuestions, AFlushIsSeenBehindAnAnswer) {
  links pool(distant{&all},
             {.max_size = 1, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 1);
  all.silent = 1;
  const int before = all.asked;
  std::atomic<int> served{0};
  count_calls(pool, 1, served);
  EXPECT_TRUE(eventually([&] { return all.asked > before; }));
  pool.flush();
  all.silent = 0;
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  EXPECT_EQ(all.made, 2);
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::flushed), 1U);
}

// What nobody has begun to ask is idle.
TEST_F(ResourceQuestions, AResizeEndsWhatIsNotBeingAsked) {
  links pool(distant{&all},
             {.max_size = 4, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 4);
  all.silent = 4;
  std::atomic<int> served{0};
  count_calls(pool, 1, served);
  EXPECT_TRUE(eventually([&] { return pool.stats().checking == 2; }));
  pool.resize(0);
  EXPECT_EQ(pool.stats().live, 2U);
  all.silent = 0;
  EXPECT_TRUE(eventually([&] { return pool.stats().live == 0; }));
  pool.resize(1);
  EXPECT_TRUE(eventually([&] { return served == 1; }));
}

// By callers: one of them does not pay for all.
TEST_F(ResourceQuestions, AnAcquireKeepsOneAlive) {
  links pool(distant{&all}, {.max_size = 8,
                             .validate_timeout = 5ms,
                             .keepalive = 1ms,
                             .validate_if_idle_longer_than = 1h,
                             .upkeep = maintenance::by_callers});
  let_grow_stale(pool, 8);
  std::this_thread::sleep_for(5ms);
  all.silent = 8;
  const int before = all.asked;
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_LE(all.asked, before + 1);
  EXPECT_TRUE(eventually([&] { return pool.try_acquire() && all.asked > before + 7; }))
      << "the next ones go on";
  all.silent = 0;
}

TEST_F(ResourceQuestions, ATickKeepsAllAlive) {
  test::manual_clock clock;
  links pool(distant{&all}, {.max_size = 8,
                             .keepalive = 1min,
                             .validate_if_idle_longer_than = 24h,
                             .upkeep = maintenance::by_callers,
                             .clock = &clock});
  let_grow_stale(pool, 8);
  clock.advance(2min);
  const int before = all.asked;
  pool.tick();
  EXPECT_EQ(all.asked, before + 8);
}

// With keys one thread ticks for all.
TEST_F(ResourceQuestions, ATickWaitsForOneSilentOne) {
  for (const time_limit keepalive : {time_limit(4ms), time_limit(1min)}) {
    test::manual_clock clock;
    links pool(distant{&all}, {.max_size = 8,
                               .validate_timeout = 50ms,
                               .keepalive = keepalive,
                               .validate_if_idle_longer_than = 1h,
                               .upkeep = maintenance::by_callers,
                               .clock = &clock});
    let_grow_stale(pool, 8);
    clock.advance(keepalive + 1ms);
    all.silent = 16;  // of both pools
    const int before = all.asked;
    for (int ticks = 1; ticks <= 8; ++ticks) {
      pool.tick();
      EXPECT_EQ(all.asked, before + ticks) << "the next one goes on";
    }
    all.silent = 0;
  }
}

struct silent_host {
  std::atomic<int>* asked;

  static int create(const int& host) { return host; }
  bool validate(int& /*link*/, const create_context& context) const {
    ++*asked;
    while (!context.stop.stop_requested()) {
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
};

// The thread of the pool is in the middle of asking each of them.
TEST(KeyedQuestions, TheEndOfThePoolAsksNoMore) {
  std::atomic<int> asked{0};
  {
    keyed_resource_pool<int, int> pool(silent_host{&asked},
                                       {.max_total = 8, .each_key = {.keepalive = 10ms}});
    for (int key = 0; key < 8; ++key) {
      EXPECT_TRUE(pool.acquire(key));
    }
    EXPECT_TRUE(eventually([&] { return asked == 1; }));
  }
  EXPECT_EQ(asked, 1);
}

/// The first ones say no, and take their time to end.
struct lingering {
  std::atomic<int>* made;
  std::atomic<bool>* lingers;
  int old = 2;
  [[nodiscard]] int create() const { return ++*made; }
  [[nodiscard]] bool validate(int& link) const { return link > old; }
  void destroy(int& link, destroy_reason /*why*/) const noexcept {
    while (link <= old && *lingers) {
      std::this_thread::sleep_for(1ms);
    }
  }
};

TEST_F(ResourceQuestions, OneThatHasSaidNoIsNotAskedAnyMoreWhileItEnds) {
  std::atomic<int> made{0};
  std::atomic<bool> lingers{true};
  links pool(lingering{&made, &lingers},
             {.max_size = 3, .validate_if_idle_longer_than = 0ns, .max_creating = 1});
  let_grow_stale(pool, 3);
  std::atomic<int> served{0};
  count_calls(pool, 1, served);
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  lingers = false;
}

// Nor does it take the threads that would make others: a host is gone, and each farewell hangs.
TEST_F(ResourceQuestions, HoweverManyTakeTheirTimeToEndOthersAreMade) {
  constexpr int idle = 12;
  std::atomic<int> made{0};
  std::atomic<bool> lingers{true};
  links pool(lingering{&made, &lingers, idle},
             {.max_size = 2 * idle, .validate_if_idle_longer_than = 0ns, .max_creating = 1});
  let_grow_stale(pool, idle);
  std::atomic<int> served{0};
  count_calls(pool, idle, served);
  EXPECT_TRUE(eventually([&] { return served == idle; }));
  lingers = false;
}

}  // namespace
}  // namespace lido
