// The numbers of a pool that the random events do not check.
#include <chrono>
#include <utility>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

TEST(KernelNumbers, IdleResourcesRaiseNoHighWaterMark) {
  kernel k({.options = {.max_size = 4, .min_idle = 4, .max_creating = 4}});
  k.suspend();
  EXPECT_EQ(k.acquire('A'), "");
  k.end_tasks();
  k.suspend(false);
  k.end_tasks();
  ASSERT_EQ(k.stats().idle, 3);
  EXPECT_EQ(k.stats().high_water, 1);
}

TEST(KernelNumbers, TheHighWaterMarkOfAllGroupsIsOfOneMoment) {
  kernel k({.options = {.max_size = 1}, .max_total = 2});
  for (std::uint32_t group = 0; group < 4; ++group) {
    k.add_group({.max_size = 1, .min_idle = 0, .max_creating = 1});
    k.acquire('A', {.group = group});
    k.end_tasks();
    EXPECT_EQ(k.high_water(), 1U);
    k.release('A');
  }
  for (const auto& [name, group] : {std::pair('A', 0U), std::pair('B', 1U)}) {
    k.acquire(name, {.group = group});
    k.end_tasks();
    EXPECT_TRUE(k.holds(name));
  }
  EXPECT_EQ(k.high_water(), 2U);
  k.release('A');
  EXPECT_EQ(k.high_water(), 2U);
}

TEST(KernelNumbers, AHandOverRaisesTheHighWaterMark) {
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    kernel k({.options = {.max_size = 1, .maintenance = by}});
    k.acquire('A');
    by == maintenance::background ? k.created(0) : k.has_created('A', true);
    k.release('A');
    EXPECT_EQ(k.stats().high_water, 1);
  }
}

TEST(KernelNumbers, AnAcquireForWhichThePoolGrowsDoesNotFindItExhausted) {
  kernel k({.options = {.max_size = 2, .max_creating = 2}});
  k.acquire('A');
  k.acquire('B');
  EXPECT_EQ(k.stats().exhausted, 0) << "a resource is being created for each";
  k.acquire('C');
  EXPECT_EQ(k.stats().exhausted, 1);
  k.end_tasks();
  k.acquire('D', {.for_ms = 0});
  EXPECT_EQ(k.stats().exhausted, 2);
  k.release('A');
  k.release('B');
  k.release('C');
  k.suspend();
  k.acquire('E');
  EXPECT_EQ(k.stats().exhausted, 2) << "resources are idle";
}

TEST(KernelNumbers, AnAcquireForWhichAnotherGroupLosesAResourceDoesNotFindThePoolExhausted) {
  kernel k({.options = {.max_size = 1}, .max_total = 1});
  for (std::uint32_t group = 0; group < 2; ++group) {
    k.add_group({.max_size = 1, .min_idle = 0, .max_creating = 1});
  }
  k.acquire('A', {.group = 0});
  k.end_tasks();
  k.release('A');
  k.acquire('B', {.group = 1});
  EXPECT_EQ(k.stats(1).exhausted, 0) << "one is evicted";
  k.end_tasks();
  ASSERT_TRUE(k.holds('B'));
  k.acquire('C', {.group = 0});
  EXPECT_EQ(k.stats(0).exhausted, 1);
}

TEST(KernelNumbers, WaitsThatAreServedAreTimed) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.stats().longest_wait, 0ms);
  for (const int ms : {5, 3}) {
    k.acquire('B');
    k.acquire('C', {.for_ms = 1});
    k.tick(ms);
    EXPECT_EQ(k.release('A'), "B has 0");
    EXPECT_EQ(k.release('B'), "");
    EXPECT_TRUE(k.acquire_fast('A'));
  }
  EXPECT_EQ(k.stats().longest_wait, 5ms);
  EXPECT_EQ(k.stats().waited_for, 8ms);
}

TEST(KernelNumbers, CreatesThatSucceedAreTimed) {
  kernel k({.options = {.max_size = 2, .max_creating = 2, .retry_first = 1ms}});
  k.acquire('A');
  k.acquire('B');
  k.pass(1);
  k.created(0);
  EXPECT_EQ(k.stats().longest_create, 1ms);
  k.created(1, false);
  EXPECT_EQ(k.stats().creating_for, 1ms);
  k.tick(1);
  k.pass(1);
  k.created(1);
  EXPECT_EQ(k.stats().creating_for, 2ms);
}

}  // namespace
}  // namespace lido
