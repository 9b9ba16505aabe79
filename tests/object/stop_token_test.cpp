// A stop token in front of the arguments belongs to the wait or to the object.
#include <gtest/gtest.h>

#include <any>
#include <chrono>
#include <stop_token>
#include <utility>

#include "lido/object_pool.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

struct job {
  explicit job(int with) : number(with) {}
  job(std::stop_token with, int other) : stop(std::move(with)), number(other) {}
  std::stop_token stop;
  int number;
};

// Because acquire(token, 7) would be ambiguous, it is written in one of two ways; see compile_fail.
TEST(StopToken, OfAnObjectThatTakesOneIsPassedOrWaitedWith) {
  object_pool<job> jobs({.capacity = 1, .when_full = when_full::wait});
  std::stop_source source;
  {
    const auto passed = jobs.acquire(job(source.get_token(), 7));
    EXPECT_TRUE(passed->stop.stop_possible());
    EXPECT_EQ(passed->number, 7);
    (void)source.request_stop();
    EXPECT_FALSE(jobs.acquire(source.get_token(), job(8)));  // waits with it, and not at all
  }
  const auto waited = jobs.acquire(source.get_token(), job(8));
  EXPECT_FALSE(waited->stop.stop_possible());
  EXPECT_EQ(waited->number, 8);
}

TEST(StopToken, BehindATimeIsTheObjects) {
  object_pool<job> jobs(3);
  const std::stop_source source;
  EXPECT_TRUE(jobs.try_acquire(source.get_token(), 7)->stop.stop_possible());
  EXPECT_TRUE(jobs.acquire_for(1s, source.get_token(), 7)->stop.stop_possible());
}

struct plain {};  // a tag

struct pinned_job : job {
  using job::job;
  pinned_job(plain /*tag*/, int with) : job(with) {}
  pinned_job(const pinned_job&) = delete;
  pinned_job& operator=(const pinned_job&) = delete;
  ~pinned_job() = default;
};

struct starting_traits : pool_traits<job> {
  struct hooks {
    static job create() { return job(0); }
    static void activate(job& one) { one.stop = {}; }
    static void activate(job& one, std::stop_token with) { one.stop = std::move(with); }
    static void activate(job& one, plain /*tag*/) { activate(one); }
  };
};

// Calls for objects that are not moved, and for kept objects, differ by a time or a tag.
TEST(StopToken, OfAnObjectThatIsNotMovedIsPassedOrWaitedWith) {
  object_pool<pinned_job> jobs(2);
  object_pool<job, starting_traits> kept(2);
  std::stop_source source;
  EXPECT_TRUE(jobs.acquire_for(1s, source.get_token(), 7)->stop.stop_possible());
  EXPECT_TRUE(kept.acquire_for(1s, source.get_token())->stop.stop_possible());
  EXPECT_FALSE(jobs.acquire(source.get_token(), plain(), 7)->stop.stop_possible());
  EXPECT_FALSE(kept.acquire(source.get_token(), plain())->stop.stop_possible());
}

struct needs_token {
  explicit needs_token(std::stop_token with) : stop(std::move(with)) {}
  std::stop_token stop;
};

// There is only one way to read the call.
TEST(StopToken, WaitsWhereTheObjectTakesOneOnlyByItself) {
  object_pool<int> numbers(2);
  object_pool<std::any> anything(2);  // its constructor takes any argument
  const std::stop_source source;
  EXPECT_EQ(*numbers.acquire(source.get_token(), 7), 7);
  EXPECT_FALSE(anything.acquire(source.get_token())->has_value());
  EXPECT_EQ(std::any_cast<int>(*anything.acquire(source.get_token(), 7)), 7);
  object_pool<needs_token> jobs(2);
  EXPECT_TRUE(jobs.acquire(source.get_token(), source.get_token())->stop.stop_possible());
}

}  // namespace
}  // namespace lido
