/// @file
/// The settings of a run, its report, and what makes it fail.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/driver.hpp"
#include "harness/report.hpp"
#include "record.hpp"
#include "storm.hpp"
#include "subject.hpp"

namespace chaos {

struct settings : stress::driver {
  settings() : driver("chaos", 12) {}

  const unsigned& redis = option("--redis", 0, "1: a Redis instead of a server in this process");
  const unsigned& postgres = option("--postgres", 0, "1: a PostgreSQL");
  const unsigned& size = option("--size", 6, "of the pool");
  const unsigned& crowd = option("--crowd", 3000, "waiters at once");
  const unsigned& faults = option("--faults", 16, "one create in so many throws; 0: none");
  const unsigned& bound = option("--bound", 500, "milliseconds by which a wait may end late");
  const unsigned& outage =
      option("--outage", 200, "milliseconds that a fault lasts at most, 1 or more");
  const unsigned& sabotage =
      option("--sabotage", 0, "1: lose some connections, to see that it is noticed");
};

inline const char* name_of_backend(const settings& settings) {
  if (settings.redis != 0) {
    return "redis";
  }
  return settings.postgres != 0 ? "postgres" : "echo";
}

/// Returns once the counts are as expected, or after a while. Threads end some time after their
/// last statement, and the kernel closes sockets late.
inline belongings settled(const belongings& expected) {
  belongings now;
  const auto patience = clock::now() + 10s;
  while ((now.threads != expected.threads || now.files != expected.files) &&
         clock::now() < patience) {
    std::this_thread::sleep_for(5ms);
    now = belongings();
  }
  return now;
}

/// Returns a text such as "killed:3,stopped:5".
inline std::string kinds_of_faults(const record& all) {
  std::string text;
  for (const auto& [kind, count] : all.faults_by_kind()) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", kind, count);
  }
  return text;
}

/// Events, and how often each must happen for the run to prove anything.
struct happening {
  std::string_view name;
  std::uint64_t count;
  std::uint64_t least = 1;
};

inline std::vector<happening> happenings(const record& all, const settings& settings) {
  const std::uint64_t throwing = settings.faults != 0 ? 1 : 0;
  return {{"served", all.served},
          {"cancelled", all.cancelled},
          {"most_cancelled_at_once", all.most_cancelled_at_once, storm::size / 2},
          {"faults", all.faults},
          {"outages", all.outages()},
          {"slow_connects", all.slow_connects},
          {"thrown_creates", all.thrown_creates, throwing},
          {"permanent_failures", all.permanent_failures, throwing},
          {"refused_for_good", all.refused_for_good, throwing},
          {"reopened", all.reopened},
          {"clock_jumps", all.clock_jumps},
          {"resizes", all.resizes},
          {"flushes", all.flushes},
          {"suspends", all.suspends},
          {"kills", all.kills},
          {"kills_of_others", all.kills_of_others}};
}

/// Returns what has happened too seldom, or nothing.
inline std::string missing_in(const record& all, const settings& settings) {
  for (const happening& one : happenings(all, settings)) {
    if (one.count < one.least) {
      return fmt::format("{}: {}", one.name, one.count);
    }
  }
  return {};
}

/// Returns a text such as "3 waits late, 12 files leaked"; empty if all is well.
inline std::string findings(
    std::initializer_list<std::pair<std::string_view, std::int64_t>> counts) {
  std::string text;
  for (const auto& [what, count] : counts) {
    if (count != 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    }
  }
  return text;
}

/// Prints the figures and the findings.
inline void report(const stress::run& run, record& all, const belongings& before,
                   const settings& settings) {
  const belongings after = settled(before);
  const std::uint64_t forgotten = all.callbacks - all.called;
  stress::figures figures("chaos");
  figures.add("seed", run.options().seed).add("backend", name_of_backend(settings));
  for (const happening& one : happenings(all, settings)) {
    figures.add(one.name, one.count);
  }
  figures.add("failed", all.failed.load())
      .add("refused", all.refused.load())
      .add("waited_by_callback", all.callbacks.load())
      .add("most_waiting_at_once", all.most_waiting.load())
      .add("kinds", kinds_of_faults(all))
      .add("slowest_connect_ms", all.slowest_connect_ms.load())
      .add("recovery_from_outages_p50_ms", fmt::format("{:.1f}", all.recovery(0.5)))
      .add("recovery_from_outages_p99_ms", fmt::format("{:.1f}", all.recovery(0.99)))
      .add("lost", all.alive.load())
      .add("forgotten", forgotten)
      .add("late", all.late.load())
      .add("bound_ms", settings.bound)
      .add("bound_without_threads_ms", settings.bound + slack_without_threads.count())
      .add("worst_late_ms", all.worst_late_us / 1000)
      .add("machine_late_ms",
           std::chrono::duration_cast<std::chrono::milliseconds>(all.pulse.worst()).count())
      .add("threads_leaked", after.threads - before.threads)
      .add("files_leaked", after.files - before.files)
      .print();
  const std::string found = findings({{"connections lost", all.alive},
                                      {"callbacks forgotten", static_cast<std::int64_t>(forgotten)},
                                      {"waits late", static_cast<std::int64_t>(all.late)},
                                      {"threads leaked", after.threads - before.threads},
                                      {"files leaked", after.files - before.files}});
  if (!found.empty()) {
    run.broken(found);
  }
}

}  // namespace chaos
