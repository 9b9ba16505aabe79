#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <set>
#include <string>
#include <string_view>

#include "lido/checked.hpp"
#include "platform/platform.hpp"
#include "support/addr2line.hpp"
#include "support/crew.hpp"
#include "support/misuse_log.hpp"

namespace lido {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using checked_pool = object_pool<long, checked_traits<long>>;

/// Returns the source line as addr2line prints it.
std::string in_line(int line) {
  return "misuse_handler_test.cpp:" + std::to_string(line);
}

void ignore(const misuse& /*what*/) noexcept {}

TEST(MisuseHandler, IsReplacedAndReturned) {
  const misuse_handler first = set_misuse_handler(&ignore);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(set_misuse_handler(nullptr), &ignore);
  EXPECT_EQ(set_misuse_handler(first), first);
}

TEST(MisuseKind, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (auto kind = misuse_kind::double_release; kind <= misuse_kind::leak;
       kind = static_cast<misuse_kind>(static_cast<int>(kind) + 1)) {
    names.insert(to_string(kind));
  }
  EXPECT_THAT(names, SizeIs(7));
}

TEST(MisuseHandler, MayUseThePoolItIsCalledFor) {
  static checked_pool* pool = nullptr;
  checked_pool jobs(4);
  pool = &jobs;
  const misuse_handler before = set_misuse_handler([](const misuse& /*what*/) noexcept {
    long* const object = pool->try_acquire_ptr(7);
    pool->release(object);
  });
  long* const object = jobs.try_acquire_ptr();
  jobs.release(object);
  jobs.release(object);
  set_misuse_handler(before);
  EXPECT_EQ(jobs.stats().in_use, 0U);
}

TEST(MisuseReport, NamesThreadsThatAreAlive) {
  test::misuse_log log;
  checked_pool pool(4);
  test::run_in_new_thread([&pool] {
    detail::platform::name_thread("worker-7");
    long* const object = pool.try_acquire_ptr();
    pool.release(object);
    pool.release(object);
  });
  ASSERT_THAT(log.entries(), SizeIs(1));
  EXPECT_THAT(log.entries()[0].report, ContainsRegex("acquired by thread .+ 'worker-7'"));
}

TEST(MisuseReport, NumbersThreadsThatHaveEnded) {
  test::misuse_log log;
  {
    checked_pool pool(4);
    test::run_in_new_thread([&pool] { (void)pool.try_acquire_ptr(); });
  }
  ASSERT_THAT(log.entries(), SizeIs(1));
  EXPECT_THAT(log.entries()[0].report, ContainsRegex("acquired by thread .+ at "));
}

TEST(MisuseReport, TellsTheEventsOfTheSlotNewestFirst) {
  test::misuse_log log;
  checked_pool pool(1);
  for (int round = 0; round < 3; ++round) {
    pool.release(pool.try_acquire_ptr());
  }
  pool.release(pool.try_acquire().get());
  ASSERT_THAT(log.entries(), SizeIs(1));
  const std::string& report = log.entries()[0].report;
  EXPECT_LT(report.find("step 8: released"), report.find("step 7: acquired"));
  EXPECT_LT(report.find("step 2: released"), report.find("step 1: acquired"));
}

TEST(MisuseReport, NamesModuleAndOffset) {
  test::misuse_log log;
  checked_pool pool(1);
  long stranger = 0;
  pool.release(&stranger);
  ASSERT_THAT(log.entries(), SizeIs(1));
  EXPECT_THAT(
      log.entries()[0].report,
      ContainsRegex(std::string("released by thread .* at lido_.*debug_tests.*\\+0x.+\n  ") +
                    test::lines_command + " .*/lido_.*debug_tests.* 0x.+\n"));
}

// Every way to acquire is traced to this file, and to its line.
TEST(MisuseReport, NamesFileAndLineOfEveryKindOfAcquire) {
  test::misuse_log log;
  std::array<int, 4> lines{};
  {
    checked_pool pool(4);
    lines[0] = __LINE__ + 1;
    (void)pool.acquire(1).detach();
    lines[1] = __LINE__ + 1;
    (void)pool.try_acquire(2).detach();
    lines[2] = __LINE__ + 1;
    (void)pool.try_acquire_ptr(3);
    std::array<long*, 1> one{};
    lines[3] = __LINE__ + 1;
    (void)pool.try_acquire_n(one);
  }
  ASSERT_THAT(log.entries(), SizeIs(1));
  const std::string found = test::resolve(log.entries()[0].report);
  for (const int line : lines) {
    EXPECT_THAT(found, HasSubstr(in_line(line)));
  }
}

TEST(MisuseReport, NamesFileAndLineOfEveryKindOfRelease) {
  test::misuse_log log;
  checked_pool pool(4);
  long* const object = pool.try_acquire_ptr();
  pool.release(object);
  const int release = __LINE__ + 1;
  pool.release(object);
  const std::array<long*, 1> one{object};
  const int bulk = __LINE__ + 1;
  pool.release_n(one);
  ASSERT_THAT(log.entries(), SizeIs(2));
  EXPECT_THAT(test::resolve(log.entries()[0].report), HasSubstr(in_line(release)));
  EXPECT_THAT(test::resolve(log.entries()[1].report), HasSubstr(in_line(bulk)));
}

}  // namespace
}  // namespace lido
