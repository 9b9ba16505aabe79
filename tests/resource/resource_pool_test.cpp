// What a resource pool offers, one fact per test. docs/reference/tests.md explains the letters and
// numbers in test names.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

/// Makes `size` resources, and releases them.
void fill(fake_pool& pool, std::size_t size) {
  std::vector<fake_lease> held;
  while (held.size() < size) {
    held.push_back(pool.acquire_for(20s));
  }
  held.clear();
  EXPECT_TRUE(eventually([&] { return pool.stats().idle == size; }));
}

/// Returns how often the mutex was locked while two threads used idle resources, without the lock
/// of one `stats()`.
std::uint64_t locks_of_two_threads(fake_pool& pool, int uses) {
  const std::uint64_t before = pool.stats().mutex_locks;
  test::run_crew(2, [&](unsigned /*thread*/) {
    for (int i = 0; i < uses; ++i) {
      EXPECT_TRUE(pool.acquire());
      const fake_lease taken = pool.try_acquire();
      EXPECT_TRUE(taken);
    }
  });
  return pool.stats().mutex_locks - before - 1;
}

TEST(ResourcePool, ALeaseIsComparedWithNull) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1});
  fake_lease held = pool.acquire_for(20s);
  EXPECT_TRUE(held != nullptr);
  held.reset();
  EXPECT_TRUE(held == nullptr && nullptr == held);
}

TEST(ResourcePool, AnIdleResourceCostsNoMutex) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 4, .maintenance = maintenance::by_tick});
  fill(pool, 4);
  EXPECT_EQ(locks_of_two_threads(pool, 1000), 0U);
}

// The threads of the pool lock the mutex a few times per second, however often other threads use
// idle resources.
TEST(ResourcePool, AnIdleResourceCostsNoMutexBesideThreadsOfThePool) {
  constexpr int uses = 50'000;
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 4, .validate_if_idle_longer_than = 1h});
  fill(pool, 4);
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t locks = locks_of_two_threads(pool, uses);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(static_cast<double>(locks), 100 * (1 + time.count()));
}

std::string refusal_of(const resource_pool_options& options) {
  test::fake_server server;
  try {
    const fake_pool pool(test::fake_factory{&server}, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ResourcePool, WrongOptionsAreRefusedByName) {
  const auto names = [](const std::string& text, const char* option) {
    return text.find("'db'") != std::string::npos && text.find(option) != std::string::npos;
  };
  EXPECT_TRUE(names(refusal_of({.max_size = 70000, .name = "db"}), "max_size 70000"));
  EXPECT_TRUE(names(refusal_of({.max_size = 1, .min_idle = 2, .name = "db"}), "min_idle 2"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .acquire_timeout = 0s}), "acquire_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .create_timeout = -1s}), "create_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .validate_timeout = 0s}), "validate_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .idle_timeout = -1s}), "idle_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .max_lifetime = -1s}), "max_lifetime"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .lifetime_jitter = 1.5}), "lifetime_jitter"));
  EXPECT_TRUE(
      names(refusal_of({.name = "db", .lifetime_jitter = std::nan("")}), "lifetime_jitter"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .retry_first = 0s}), "retry_first"));
  EXPECT_TRUE(
      names(refusal_of({.name = "db", .retry_first = 2s, .retry_longest = 1s}), "retry_longest"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .close_timeout = -1s}), "close_timeout"));
}

// A resource with no functions but a constructor and a destructor, which cannot be moved.
struct immovable {
  explicit immovable(int start) : value(start) {}
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
  ~immovable() = default;
  int value;
};

TEST(ResourcePool, AFunctionIsAFactoryAndResourcesNeedNotMove) {
  resource_pool<immovable> pool([] { return immovable(42); },
                                {.maintenance = maintenance::by_tick});
  EXPECT_EQ(pool.acquire()->value, 42);
  EXPECT_EQ(pool.with([](immovable& resource) { return resource.value; }), 42);
}

struct careless : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

TEST(ResourcePool, AnErrorWithoutATextIsReportedWithoutOne) {
  resource_pool<int> pool([]() -> int { throw careless(); }, {.max_size = 1});
  EXPECT_THROW((void)pool.acquire_for(10ms), acquire_error);
}

// Overloads `operator&`, as the pointer classes for COM do.
struct secretive {
  int secret = 5;
  int* operator&() { return &secret; }  // NOLINT(google-runtime-operator): what is tested
};

TEST(ResourcePool, AnOverloadedAddressOperatorIsNotCalled) {
  resource_pool<secretive> pool([] { return secretive(); }, {.max_size = 1});
  const auto lease = pool.acquire();
  secretive* const resource = lease.get();
  EXPECT_EQ(resource->secret, lease->secret);
}

class ResourceSurface : public test::resource_by_tick {};

/// What a factory received.
struct instructions {
  std::chrono::nanoseconds create_within{0};
  std::chrono::nanoseconds validate_within{0};
  std::atomic<bool> creating{false};
  std::atomic<bool> asked_to_stop{false};
  std::atomic<bool> wait_for_stop{false};
};

struct attentive_factory {
  instructions* told;

  [[nodiscard]] int create(const create_context& context) const {
    told->create_within = context.deadline - std::chrono::steady_clock::now();
    told->creating = true;
    while (told->wait_for_stop && !context.stop.stop_requested()) {
      std::this_thread::sleep_for(1ms);
    }
    told->asked_to_stop = context.stop.stop_requested();
    if (told->asked_to_stop) {
      throw std::runtime_error("asked to stop");
    }
    return 1;
  }
  bool validate(int& /*resource*/, const create_context& context) const {
    told->validate_within = context.deadline - std::chrono::steady_clock::now();
    return true;
  }
};

TEST(ResourceFactory, ANullFunctionIsRefused) {
  using function = std::function<int()>;
  using done = std::function<void(acquire_result<int>)>;
  EXPECT_THROW(resource_pool<int>{function()}, std::invalid_argument);
  resource_pool<int> pool(function([] { return 1; }));
  EXPECT_THROW(pool.replace_factory(function()), std::invalid_argument);
  EXPECT_THROW(pool.async_acquire(done()), std::invalid_argument);
  EXPECT_EQ(*pool.acquire(), 1);
}

TEST(ResourceFactory, IsToldHowLongItMayTake) {
  instructions told;
  resource_pool<int> pool(attentive_factory{&told}, {.acquire_timeout = 1000s,
                                                     .create_timeout = 300s,
                                                     .validate_timeout = 100s,
                                                     .validate_if_idle_longer_than = 0s,
                                                     .maintenance = maintenance::by_tick});
  (void)pool.acquire();
  EXPECT_GT(told.create_within, 200s);
  EXPECT_LE(told.create_within, 300s);
  pool.acquire().discard();
  (void)pool.acquire_for(250s);
  EXPECT_LE(told.create_within, 250s) << "an acquirer that creates has its own time";
  pool.acquire().discard();
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_GT(told.create_within, 200s) << "try_acquire gives the create its full time";
  (void)pool.acquire();
  EXPECT_GT(told.validate_within, 50s);
  EXPECT_LE(told.validate_within, 100s);
}

/// A factory that, once it is dead, takes all the time of each validation, and then fails it.
struct dying_factory {
  std::atomic<bool>* dead;

  static int create() { return 1; }
  bool validate(int& /*resource*/, const create_context& context) const {
    // Again, since MinGW's sleep ends up to a millisecond early, and then there is time for others.
    while (*dead && std::chrono::steady_clock::now() < context.deadline) {
      std::this_thread::sleep_until(context.deadline);
    }
    return !*dead;
  }
};

/// Makes `size` resources, and then declares them dead.
void fill_with_dying(resource_pool<int>& pool, std::size_t size, std::atomic<bool>& dead) {
  dead = false;
  std::vector<resource_lease<int>> all(size);
  for (auto& one : all) {
    one = pool.acquire();
  }
  all.clear();
  dead = true;
}

// All validations of an acquire share its time.
TEST(ResourceFactory, A11ValidationsKeepToTheTimeOfTheAcquire) {
  std::atomic<bool> dead{false};
  resource_pool<int> pool(dying_factory{&dead}, {.max_size = 8,
                                                 .validate_timeout = 10s,
                                                 .validate_if_idle_longer_than = 0s,
                                                 .maintenance = maintenance::by_tick});
  fill_with_dying(pool, 8, dead);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW((void)pool.acquire_for(50ms), acquire_error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

// An acquire that does not wait takes the time of one validation, however many resources are stale.
TEST(ResourceFactory, A11AnAcquireWithoutTimeWaitsForOneValidationAtMost) {
  constexpr std::size_t size = 40;
  std::atomic<bool> dead{false};
  resource_pool<int> pool(dying_factory{&dead}, {.max_size = size,
                                                 .validate_timeout = 100ms,
                                                 .validate_if_idle_longer_than = 0s,
                                                 .maintenance = maintenance::by_tick});
  fill_with_dying(pool, size, dead);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST(ResourceFactory, AnEndlessTimeIsNoDeadlineInThePast) {
  instructions told;
  constexpr auto without_end = std::chrono::nanoseconds::max();
  resource_pool<int> pool(attentive_factory{&told}, {.acquire_timeout = without_end,
                                                     .create_timeout = without_end,
                                                     .validate_timeout = without_end,
                                                     .validate_if_idle_longer_than = 0s,
                                                     .maintenance = maintenance::by_tick});
  (void)pool.acquire();
  (void)pool.acquire();
  EXPECT_GT(told.create_within, 1000s);
  EXPECT_GT(told.validate_within, 1000s);
}

TEST(ResourceFactory, IsAskedToStopWhenThePoolIsClosed) {
  instructions told;
  told.wait_for_stop = true;
  resource_pool<int> pool(attentive_factory{&told}, {.min_idle = 1});
  ASSERT_TRUE(eventually([&] { return told.creating.load(); }));
  EXPECT_TRUE(pool.close(10s).complete());
  EXPECT_TRUE(told.asked_to_stop);
}

// djc/bb8 #227, PR #147: fail-fast mode reports any failure, not only permanent ones.
TEST(ResourceFactory, D10FailFastReportsAnyFailure) {
  test::fake_server server;
  server.down = true;
  fake_pool pool(
      test::fake_factory{&server},
      {.retry_first = 1000s, .retry_longest = 1000s, .on_create_error = create_errors::fail_fast});
  EXPECT_EQ(test::failure_of(pool, 10'000ms), acquire_failure::create_failed);
  // Acquires before the next attempt fail at once.
  EXPECT_EQ(test::failure_of(pool, 10'000ms), acquire_failure::create_failed);
  EXPECT_EQ(server.creates, 1);
}

// netty/netty PR #13220, #15604: the guard against double returns is so expensive that it is off.
// Here a return checks the word that it changes in any case.
TEST_F(ResourceSurface, F2TheGuardTakesNoMutex) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  const std::uint64_t before = pool.stats().mutex_locks;
  for (int i = 0; i < 100; ++i) {
    fake_lease held = pool.try_acquire();
    held.reset();
    held.reset();
  }
  EXPECT_EQ(pool.stats().mutex_locks, before + 1);  // the lock of the first stats()
}

TEST_F(ResourceSurface, AnOldHandleReachesNoOtherResource) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  const resource_handle former = held.handle();
  held.discard();
  held = pool.acquire();
  EXPECT_NE(held.handle(), former);
  EXPECT_FALSE(pool.kill(former));
  EXPECT_FALSE(pool.kill({}));
  EXPECT_FALSE(pool.kill({.index = 99, .birth = 1}));
  EXPECT_TRUE(pool.kill(held.handle()));
}

/// Counts how often it is destroyed.
class mortal {
 public:
  explicit mortal(int* ends) : ends_(ends) {}
  mortal(mortal&& other) noexcept : ends_(std::exchange(other.ends_, nullptr)) {}
  mortal(const mortal&) = delete;
  mortal& operator=(const mortal&) = delete;
  mortal& operator=(mortal&&) = delete;
  ~mortal() {
    if (ends_ != nullptr) {
      ++*ends_;
    }
  }

 private:
  int* ends_;
};

struct mortal_factory {
  int* ends;
  int* destroys;
  [[nodiscard]] mortal create() const { return mortal(ends); }
  void destroy(mortal& /*resource*/, destroy_reason /*reason*/) const noexcept { ++*destroys; }
};

// siemens/embb #40: the pool does not run destructors.
TEST(ResourceEnd, G4EachResourceIsDestroyedOnce) {
  int ends = 0;
  int destroys = 0;
  {
    resource_pool<mortal> pool(mortal_factory{&ends, &destroys},
                               {.max_size = 3, .maintenance = maintenance::by_tick});
    auto first = pool.acquire();
    auto second = pool.acquire();
    auto third = pool.acquire();
    second.discard();
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(destroys, 1);
    const mortal taken = third.detach();  // it belongs to the caller now, not to the factory
    EXPECT_EQ(destroys, 1);
  }
  EXPECT_EQ(ends, 3);
  EXPECT_EQ(destroys, 2);
}

/// Stays in `create` until a test lets it continue, and then throws.
struct stuck_factory {
  std::shared_ptr<std::atomic<int>> state;  ///< 1: inside, 2: may continue
  [[nodiscard]] int create() const {
    *state = 1;
    (void)eventually([&] { return *state == 2; });
    throw std::runtime_error("no");
  }
};

TEST(ResourceEnd, ACreateThatOutlastsThePoolAndFailsLeavesNothingBehind) {
  const auto state = std::make_shared<std::atomic<int>>(0);
  {
    resource_pool<int> pool(stuck_factory{state}, {.max_size = 1, .close_timeout = 1ms});
    EXPECT_FALSE(pool.try_acquire());
    EXPECT_TRUE(eventually([&] { return *state == 1; }));
  }
  *state = 2;
  EXPECT_TRUE(eventually([&] { return state.use_count() == 1; }));
}

TEST_F(ResourceSurface, WithDiscardsTheResourceAfterAnException) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  EXPECT_GT(pool.with([](const test::connection& connection) { return connection.id; }), 0);
  EXPECT_THROW(pool.with([](const test::connection&) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(server.destroyed_for(destroy_reason::discarded), 1);
  fill(pool, 1);
  EXPECT_GT(pool.with([](const test::connection& connection) { return connection.id; }), 1);
  EXPECT_EQ(pool.stats().idle, 1U);
}

TEST(ResourceEnd, DetachDestroysWhatIsLeftBehindInThePool) {
  int alive = 0;
  struct counted {
    explicit counted(int& all) : count(&all) { ++*count; }
    counted(counted&& from) noexcept : count(from.count) { ++*count; }
    counted(const counted&) = delete;
    counted& operator=(counted&&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --*count; }
    int* count;
  };
  resource_pool<counted> pool([&alive] { return counted(alive); }, {.max_size = 2});
  {
    const counted mine = pool.acquire().detach();
    EXPECT_EQ(alive, 1);
    pool.acquire().reset();
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 1);
}

// Otherwise all instances of a program would end their connections at the same moments.
TEST(ResourceEnd, TwoPoolsDrawDifferentLifetimes) {
  const auto lifetimes = [] {
    test::manual_clock clock;
    std::vector<int> left;
    resource_pool<int> pool([] { return 1; }, {.max_size = 40,
                                               .idle_timeout = 0s,
                                               .max_lifetime = 1000s,
                                               .lifetime_jitter = 1,
                                               .keepalive = 0s,
                                               .maintenance = maintenance::by_tick,
                                               .clock = &clock});
    {
      std::vector<resource_lease<int>> all(40);
      std::generate(all.begin(), all.end(), [&] { return pool.try_acquire(); });
    }
    for (int i = 0; i < 200; ++i) {
      clock.advance(5s);
      pool.tick();
      left.push_back(static_cast<int>(pool.stats().live));
    }
    return left;
  };
  const std::vector<int> first = lifetimes();
  EXPECT_EQ(first.back(), 0);
  EXPECT_NE(first, lifetimes());
}

TEST_F(ResourceSurface, ALeaseThatIsAssignedReleasesItsResource) {
  fake_pool& pool = start({.max_size = 2});
  fill(pool, 2);
  fake_lease held = pool.try_acquire();
  held = pool.try_acquire();
  EXPECT_EQ(pool.stats().in_use, 1U);
  held.reset();
  held.reset();
  EXPECT_EQ(pool.stats().idle, 2U);
}

// A thread that has no number must not get a resource as its own last one. It would never get a
// number, and would permanently share a thread state of the pool.
TEST_F(ResourceSurface, AThreadGetsItsNumberWithItsFirstResource) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  fake_lease held = pool.try_acquire();
  std::thread([lease = std::move(held)]() mutable { lease.reset(); }).join();
  std::thread([&] {
    EXPECT_TRUE(pool.try_acquire());
    EXPECT_NE(detail::own_thread_offset(), 0U);
  }).join();
}

// A reset may hang, for a resource that no thread would use.
TEST_F(ResourceSurface, ASurplusResourceIsNotResetFirst) {
  fake_pool& pool = start({.max_size = 2});
  fake_lease surplus = pool.acquire();
  fake_lease last = pool.acquire();
  pool.resize(1);
  surplus.reset();
  EXPECT_EQ(server.resets, 0);
  EXPECT_EQ(server.destroyed_for(destroy_reason::surplus), 1);
  (void)pool.close(0ns);
  last.reset();
  EXPECT_EQ(server.resets, 0);
  EXPECT_EQ(server.destroyed_for(destroy_reason::closed), 1);
}

// Ages are counted in ticks, from the start of the pool.
TEST_F(ResourceSurface, AResourceMadeBeforeTheFirstTickIsNotOld) {
  fake_pool& pool = start({.max_size = 1, .max_lifetime = 1min});
  fill(pool, 1);
  pass(1s);
  EXPECT_EQ(pool.stats().idle, 1U);
}

struct throwing_factory {
  const bool* throws;
  static int create() { return 1; }
  bool validate(int& /*resource*/) const {
    fail();
    return true;
  }
  void reset(int& /*resource*/) const { fail(); }
  void fail() const {
    if (*throws) {
      throw std::runtime_error("no answer");
    }
  }
};

TEST(ResourceHooks, AResourceEndsWhenItsValidationOrResetThrows) {
  bool throws = false;
  resource_pool<int> pool(
      throwing_factory{&throws},
      {.max_size = 1, .validate_if_idle_longer_than = 0s, .maintenance = maintenance::by_tick});
  pool.acquire().reset();
  throws = true;
  EXPECT_NO_THROW((void)pool.acquire());
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

// ---- an idle resource or nothing ----------------------------------------------------------------

/// A state of a pool of one resource, whose factory must not be called afterwards.
struct idle_case {
  const char* name;
  void (*prepare)(fake_pool&, test::fake_server&);
  bool is_taken;
};

TEST(ResourceIdle, OnlyAnIdleFreshResourceIsTaken) {
  const idle_case rows[] = {
      {"never made", [](fake_pool&, test::fake_server&) {}, false},
      {"idle", [](fake_pool& pool, auto&) { (void)pool.acquire(); }, true},
      {"killed",
       [](fake_pool& pool, auto&) {
         fake_lease held = pool.acquire();
         (void)pool.kill(held.handle());
       },
       false},
      {"flushed",
       [](fake_pool& pool, auto&) {
         (void)pool.acquire();
         pool.flush();
       },
       false},
      {"suspended",
       [](fake_pool& pool, auto&) {
         (void)pool.acquire();
         pool.suspend();
       },
       false},
      {"closed",
       [](fake_pool& pool, auto&) {
         (void)pool.acquire();
         (void)pool.close(0s);
       },
       false},
  };
  for (const auto by : {maintenance::background, maintenance::by_tick}) {
    for (const idle_case& one : rows) {
      SCOPED_TRACE(one.name);
      test::fake_server server;
      fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .maintenance = by});
      one.prepare(pool, server);
      const int creates = server.creates;
      fake_lease got = pool.try_acquire_idle();
      EXPECT_EQ(static_cast<bool>(got), one.is_taken);
      EXPECT_FALSE(pool.try_acquire_idle());  // it is in use, or was not there
      EXPECT_EQ(pool.stats().in_use, one.is_taken ? 1U : 0U);
      EXPECT_EQ(server.creates, creates);
      EXPECT_EQ(pool.stats().creating, 0U);
    }
  }
}

TEST(ResourceIdle, AStaleResourceIsLeftAlone) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .validate_if_idle_longer_than = 0s});
  (void)pool.acquire();
  const int validations = server.validations;
  EXPECT_FALSE(pool.try_acquire_idle());
  EXPECT_EQ(server.validations, validations);
}

// ---- a reset that returns at once ---------------------------------------------------------------

struct quick_factory {
  test::fake_server* server;
  [[nodiscard]] static int create() { return 0; }
  [[nodiscard]] bool reset(int& used) const noexcept {
    ++server->resets;
    ++used;
    return !server->refuse_reset;
  }
  void destroy(int& /*used*/, destroy_reason why) const noexcept {
    ++server->destroyed.at(static_cast<std::size_t>(why));
  }
};

TEST(ResourceQuickReset, ANoexceptResetTakesNoMutexAndRefuses) {
  test::fake_server server;
  resource_pool<int> pool(quick_factory{&server}, {.max_size = 1});
  (void)pool.acquire();
  const std::uint64_t locks = pool.stats().mutex_locks;
  for (int i = 1; i <= 100; ++i) {
    EXPECT_EQ(*pool.acquire(), i);
  }
  EXPECT_EQ(pool.stats().mutex_locks, locks + 1);  // that of stats
  EXPECT_EQ(server.resets, 101);
  server.refuse_reset = true;
  (void)pool.acquire();
  (void)test::settled(pool);
  EXPECT_EQ(server.destroyed_for(destroy_reason::reset_refused), 1);
  server.refuse_reset = false;
  EXPECT_EQ(*pool.acquire(), 0);  // a new one
}

TEST(ResourceQuickReset, AResourceThatEndsIsNotReset) {
  test::fake_server server;
  resource_pool<int> pool(quick_factory{&server}, {.max_size = 1, .max_uses = 1});
  (void)pool.acquire();
  EXPECT_EQ(server.resets, 0);
  (void)test::settled(pool);
  EXPECT_EQ(server.destroyed_for(destroy_reason::used_up), 1);
}

// ---- a lease of a type that is not complete -----------------------------------------------------

struct not_yet_known;
struct holder_of_one {
  resource_lease<not_yet_known> lease;
  std::optional<resource_lease<not_yet_known>> other;
  acquire_result<not_yet_known>* result = nullptr;
};
struct not_yet_known {
  resource_lease<not_yet_known> next;  // its own type
  int value = 7;
};

TEST(ResourceLease, AMemberOfATypeThatIsNotCompleteIsALease) {
  resource_pool<not_yet_known> pool([] { return not_yet_known(); }, {.max_size = 2});
  holder_of_one held{.lease = pool.acquire(), .other = pool.acquire()};
  EXPECT_EQ(held.lease->value + (*held.other)->value, 14);
  held.other.reset();
  EXPECT_EQ(pool.stats().in_use, 1U);
}

}  // namespace
}  // namespace lido
