#include "lido/concurrency/thread_number.hpp"

#include <gtest/gtest.h>
#ifdef __unix__
#include <pthread.h>
#endif

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/crew.hpp"
#include "support/ending_thread.hpp"
#include "support/sanitizers.hpp"
#include "support/take_number.hpp"

namespace lido::detail {
namespace {

std::uint32_t own_number() {
  return static_cast<std::uint32_t>(own_thread_offset() / thread_stride);
}

std::uint32_t assigned_number() {
  EXPECT_TRUE(test::take_thread_number());
  return own_number();
}

/// Records which threads notified it of their end.
class listener final : public thread_exit_listener {
 public:
  listener() { register_listener(); }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener() { unregister_listener(); }

  /// Registers the calling thread. Unlike the library, it waits.
  void use() {
    ASSERT_TRUE(test::take_thread_number());
    while (!try_note_use(uses_[own_number()])) {
      std::this_thread::yield();
    }
  }
  void on_thread_exit(std::uint32_t number) noexcept override { heard.push_back(number); }

  std::vector<std::uint32_t> heard;  // written under the registry's mutex

 private:
  void visit_uses(void (*visit)(thread_use&)) noexcept override {
    for (thread_use& use : uses_) {
      visit(use);
    }
  }

  std::vector<thread_use> uses_ = std::vector<thread_use>(max_thread_number + 1);
};

TEST(ThreadNumber, NewThreadHasNone) {
  test::run_in_new_thread([] { EXPECT_EQ(own_thread_offset(), 0U); });
}

TEST(ThreadNumber, AssignedNumberIsBetweenOneAndTheLargest) {
  test::run_in_new_thread([] {
    EXPECT_GE(assigned_number(), 1U);
    EXPECT_LE(own_number(), max_thread_number);
    EXPECT_EQ(own_thread_offset() % thread_stride, 0U);
  });
}

TEST(ThreadNumber, AssigningAgainChangesNothing) {
  test::run_in_new_thread([] {
    const std::uint32_t first = assigned_number();
    EXPECT_EQ(assigned_number(), first);
  });
}

TEST(ThreadNumber, AssigningWithoutWaitWorksWhenTheRegistryIsFree) {
  test::run_in_new_thread([] { EXPECT_TRUE(assign_thread_number()); });
}

TEST(ThreadNumber, NumberOfAnEndedThreadIsReused) {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  test::run_in_new_thread([&] { first = assigned_number(); });
  test::run_in_new_thread([&] { second = assigned_number(); });
  EXPECT_EQ(second, first);
}

// Compilers that emulate thread-local words end them before the number is given back. A destructor
// that runs in between finds a new word.
TEST(ThreadNumber, ThreadWhoseWordBeganAnewKeepsItsNumber) {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t other = 0;
  test::run_in_new_thread([&] {
    first = assigned_number();
    thread_offset = no_thread_offset;
    second = assigned_number();
  });
  test::run_in_new_thread([&] { other = assigned_number(); });
  EXPECT_EQ(second, first);
  EXPECT_EQ(other, first) << "a number was given twice, and is lost";
}

TEST(ThreadNumber, LowestFreeNumberComesFirst) {
  std::uint32_t low = 0;
  test::run_in_new_thread([&] { low = assigned_number(); });
  std::vector<std::uint32_t> numbers(3);
  test::parked_crew crew(1, [&](unsigned /*index*/) { numbers[0] = assigned_number(); });
  test::parked_crew next(1, [&](unsigned /*index*/) { numbers[1] = assigned_number(); });
  EXPECT_EQ(numbers[0], low);
  EXPECT_GT(numbers[1], low);
}

TEST(ThreadNumber, ThreadsThatLiveAtOnceHaveDifferentNumbers) {
  std::vector<std::uint32_t> numbers(64);
  std::barrier all(64);
  test::run_crew(64, [&](unsigned i) {
    numbers[i] = assigned_number();
    all.arrive_and_wait();
  });
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN  // which need much memory for each thread

/// Thousands of threads at once. With default stacks they do not fit into 4 GiB of addresses.
struct thread_crowd {
#if defined(__GLIBC__) && __SIZEOF_POINTER__ == 4
  thread_crowd() {
    pthread_attr_t usual;
    ::pthread_getattr_default_np(&usual);
    ::pthread_attr_getstacksize(&usual, &usual_size_);
    set(std::size_t{128} << 10U);
  }
  thread_crowd(const thread_crowd&) = delete;
  thread_crowd& operator=(const thread_crowd&) = delete;
  ~thread_crowd() {
    set(usual_size_);
  }

 private:
  static void set(std::size_t size) {
    pthread_attr_t wanted;
    ::pthread_getattr_default_np(&wanted);
    ::pthread_attr_setstacksize(&wanted, size);
    EXPECT_EQ(::pthread_setattr_default_np(&wanted), 0);
  }
  std::size_t usual_size_ = 0;
#endif
};

TEST(ThreadNumber, ThreadsPastTheTableGetNone) {
  [[maybe_unused]] const thread_crowd small_stacks;
  constexpr unsigned crowd = max_thread_number + 40;
  std::vector<int> has_number(crowd);
  std::barrier all(crowd);
  test::run_crew(crowd, [&](unsigned i) {
    has_number[i] = test::take_thread_number() ? 1 : 0;
    all.arrive_and_wait();
  });
  const auto numbered = std::count(has_number.begin(), has_number.end(), 1);
  EXPECT_LE(numbered, static_cast<std::ptrdiff_t>(max_thread_number));
  EXPECT_GE(numbered, static_cast<std::ptrdiff_t>(max_thread_number) - 1);  // the test's own thread
}

TEST(ThreadNumber, RefusedThreadGetsANumberOnceOneIsGivenBack) {
  [[maybe_unused]] const thread_crowd small_stacks;
  std::optional<test::parked_crew> crowd(std::in_place, max_thread_number, [](unsigned /*index*/) {
    (void)test::take_thread_number();
  });
  test::run_in_new_thread([&] {
    EXPECT_FALSE(test::take_thread_number());
    EXPECT_FALSE(test::take_thread_number());
    crowd.reset();
    EXPECT_TRUE(test::take_thread_number());
  });
}

#endif

TEST(ThreadNumber, EndingThreadLosesItsNumberAndGetsNoOther) {
  test::run_in_ending_thread([] {
    EXPECT_EQ(own_thread_offset(), 0U);
    EXPECT_FALSE(test::take_thread_number());
  });
}

TEST(ThreadExitListener, HearsTheNumberOfAThreadThatEnds) {
  listener ear;
  std::uint32_t number = 0;
  test::run_in_new_thread([&] {
    number = assigned_number();
    ear.use();
  });
  EXPECT_EQ(ear.heard, std::vector<std::uint32_t>{number});
}

TEST(ThreadExitListener, HearsNothingOfThreadsThatHaveNotUsedIt) {
  listener ear;
  listener other;
  test::run_in_new_thread([&] { other.use(); });
  EXPECT_TRUE(ear.heard.empty());
  EXPECT_EQ(other.heard.size(), 1U);
}

TEST(ThreadExitListener, HearsAThreadOnceThatNotesItsUseTwice) {
  listener ear;
  test::run_in_new_thread([&] {
    ear.use();
    ear.use();
  });
  EXPECT_EQ(ear.heard.size(), 1U);
}

TEST(ThreadExitListener, HearsTheNextThreadOfANumberOnlyIfThatUsesItToo) {
  listener ear;
  test::run_in_new_thread([&] { ear.use(); });
  test::run_in_new_thread([] { (void)test::take_thread_number(); });
  EXPECT_EQ(ear.heard.size(), 1U);
  test::run_in_new_thread([&] { ear.use(); });
  EXPECT_EQ(ear.heard.size(), 2U);
}

TEST(ThreadExitListener, MayEndWhileThreadsThatHaveUsedItLive) {
  listener first;
  std::optional<listener> second(std::in_place);
  listener third;
  {
    test::parked_crew crew(3, [&](unsigned /*index*/) {
      first.use();
      second->use();
      third.use();
    });
    second.reset();
  }
  EXPECT_EQ(first.heard.size(), 3U);
  EXPECT_EQ(third.heard.size(), 3U);
}

TEST(ThreadExitListener, HearsNothingOfThreadsWithoutNumber) {
  listener ear;
  test::run_in_new_thread([] {});
  EXPECT_TRUE(ear.heard.empty());
}

TEST(ThreadExitListener, HearsEveryThreadOnce) {
  listener ear;
  test::run_crew(32, [&](unsigned /*index*/) { ear.use(); });
  EXPECT_EQ(ear.heard.size(), 32U);
}

TEST(ThreadExitListener, OthersGoOnHearingWhenOneLeavesTheList) {
  listener first;
  std::uint32_t number = 0;
  {
    listener second;
    listener third;
  }
  listener fourth;
  test::run_in_new_thread([&] {
    number = assigned_number();
    first.use();
    fourth.use();
  });
  EXPECT_EQ(first.heard, std::vector<std::uint32_t>{number});
  EXPECT_EQ(fourth.heard, std::vector<std::uint32_t>{number});
}

TEST(ThreadExitListener, MayRegisterBesideEndingThreads) {
  test::run_crew(4, [](unsigned i) {
    for (int round = 0; round < 50; ++round) {
      if (i % 2 == 0) {
        listener ear;
        test::run_in_new_thread([&] { ear.use(); });
      } else {
        test::run_in_new_thread([] { (void)test::take_thread_number(); });
      }
    }
  });
}

/// Requests a number when its thread's destructors run.
struct late_asker {
  ~late_asker() { *answer = test::take_thread_number(); }
  bool* answer = nullptr;
};

TEST(ThreadNumber, DestructorOfAThreadLocalObjectStillGetsOne) {
  bool answer = false;
  test::run_in_new_thread([&] {
    thread_local late_asker asker;
    asker.answer = &answer;
  });
  EXPECT_TRUE(answer);
}

}  // namespace
}  // namespace lido::detail
