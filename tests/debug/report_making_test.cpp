// What happens around a report while it is made: signals, cancellation, a slow symboliser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX has more than <csignal>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "lido/checked.hpp"
#include "support/crew.hpp"
#include "support/misuse_log.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using checked_pool = object_pool<long, policy::checked>;

/// A signal every two milliseconds, as profilers send.
class profiler_timer {
 public:
  profiler_timer() {
    struct sigaction action {};
    action.sa_handler = [](int /*signal*/) {};
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 2000}, {0, 2000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  profiler_timer(const profiler_timer&) = delete;
  profiler_timer& operator=(const profiler_timer&) = delete;
  ~profiler_timer() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

TEST(ReportMaking, SignalsDoNotCutOffWhatTheSymboliserSays) {
  test::misuse_log log(test::misuse_log::lines::yes);
  const profiler_timer timer;
  checked_pool pool(4);
  long* const object = pool.try_acquire_ptr();
  pool.release(object);
  const std::string line = std::to_string(__LINE__ + 1);
  pool.release(object);
  ASSERT_THAT(log.entries(), SizeIs(1));
  EXPECT_THAT(log.entries()[0].report, HasSubstr("report_making_test.cpp:" + line + " "));
}

TEST(ReportMaking, AThreadThatIsToBeCancelledComesThrough) {
  test::misuse_log log(test::misuse_log::lines::yes);
  checked_pool pool(4);
  test::run_in_new_thread([&] {
    pthread_setname_np(pthread_self(), "cancelled");
    long* const object = pool.try_acquire_ptr();
    pool.release(object);
    ::pthread_cancel(::pthread_self());
    pool.release(object);
  });
  ASSERT_THAT(log.entries(), SizeIs(1));
  EXPECT_THAT(log.entries()[0].report, HasSubstr("'cancelled'"));
}

/// A symboliser that knows the place at once and then prints on, for longer than anybody waits.
class slow_symboliser {
 public:
  slow_symboliser() {
    std::ofstream(path_) << "#!/bin/sh\n"
                            "echo serve; echo server.cpp:41\n"
                            "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 2; printf x; done\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    ::setenv("LIDO_ADDR2LINE", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  slow_symboliser(const slow_symboliser&) = delete;
  slow_symboliser& operator=(const slow_symboliser&) = delete;
  ~slow_symboliser() { std::filesystem::remove(path_); }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("lido_slow_symboliser_" + std::to_string(::getpid()));
};

TEST(ReportMaking, ASymboliserHasFiveSecondsForAllItPrints) {
  test::misuse_log log;
  const slow_symboliser symboliser;
  checked_pool pool(4);
  long stranger = 0;
  const auto begin = std::chrono::steady_clock::now();
  pool.release(&stranger);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 12s);
  ASSERT_THAT(log.entries(), SizeIs(1));
  EXPECT_THAT(log.entries()[0].report, HasSubstr("in serve at server.cpp:41 "));
}

}  // namespace
}  // namespace lido
