// A fiber that continues in another thread between two calls, within one function.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <memory>
#include <thread>

#include "lido/checked.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"

namespace lido {
namespace {

/// One function on a stack of its own, which any thread may continue.
class fiber {
 public:
  explicit fiber(void (*function)(fiber&)) : function_(function) {
    ::getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = stack_bytes;
    own_.uc_link = &caller_;
    started() = this;
    ::makecontext(&own_, &fiber::start, 0);
  }
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber() = default;

  /// Runs it in the calling thread until it leaves.
  void go_on() { ::swapcontext(&caller_, &own_); }
  /// Called in the fiber: returns when a thread continues it.
  void leave() { ::swapcontext(&own_, &caller_); }

 private:
  static constexpr std::size_t stack_bytes = 256 * 1024;

  static fiber*& started() {
    static fiber* one = nullptr;
    return one;
  }
  static void start() { started()->function_(*started()); }

  void (*function_)(fiber&);
  std::unique_ptr<std::byte[]> stack_ = std::make_unique<std::byte[]>(stack_bytes);
  ucontext_t own_{};
  ucontext_t caller_{};
};

/// Runs the fiber here first, then in another thread, which calls `look` before it ends, and so on.
template <class Look>
void run_in_turn(void (*function)(fiber&), int times, const Look& look) {
  fiber one(function);
  for (int i = 0; i < times; ++i) {
    if (i % 2 == 0) {
      one.go_on();
    } else {
      std::thread([&] {
        one.go_on();
        look();
      }).join();
    }
  }
}

std::array<std::size_t, 3> seen{};

void look_three_times(fiber& self) {
  seen[0] = detail::own_thread_offset();
  self.leave();
  (void)detail::assign_thread_number();
  seen[1] = detail::own_thread_offset();
  self.leave();
  seen[2] = detail::own_thread_offset();
}

TEST(Fiber, FindsTheNumberOfTheThreadThatItRunsIn) {
  (void)detail::assign_thread_number();
  run_in_turn(look_three_times, 3, [] { EXPECT_EQ(seen[1], detail::own_thread_offset()); });
  EXPECT_EQ(seen[0], detail::own_thread_offset());
  EXPECT_NE(seen[1], 0U);
  EXPECT_NE(seen[1], seen[0]);
  EXPECT_EQ(seen[2], seen[0]);
}

template <class Pool>
Pool* shared_pool = nullptr;

template <class Pool>
void acquire_and_release(fiber& self) {
  Pool& pool = *shared_pool<Pool>;
  for (int round = 0; round < 4; ++round) {
    std::array<typename Pool::value_type*, 20> objects{};
    for (auto& object : objects) {
      object = pool.try_acquire_ptr();
    }
    self.leave();
    for (auto* const object : objects) {
      pool.release(object);
    }
    self.leave();
  }
}

template <class Pool>
void expect_conserved() {
  Pool pool(64);
  shared_pool<Pool> = &pool;
  run_in_turn(acquire_and_release<Pool>, 9, [&] {
    EXPECT_EQ(pool.stats().open_caches, 2U) << "the other thread has released into the first cache";
  });
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 64U);
}

TEST(Fiber, LosesNoSlot) {
  expect_conserved<object_pool<long>>();
  expect_conserved<object_pool<long, checked_traits<long>>>();
}

}  // namespace
}  // namespace lido
