#include "lido/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/property_tree/json_parser.hpp>
#include <chrono>
#include <limits>
#include <locale>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/block_resource.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/object_pool.hpp"
#include "lido/registry.hpp"
#include "lido/resource_pool.hpp"
#include "platform/platform.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

struct counting : pool_traits<int> {
  static constexpr bool counts = true;
};

struct seen_event {
  std::string what;
  std::string pool;
  std::string thread;
  double begin;     // microseconds
  double duration;  // microseconds
  std::size_t slots;
};

struct seen_point {
  double when;  // microseconds
  std::size_t value;
};

/// A finished trace, as a JSON reader sees it.
struct seen_trace {
  explicit seen_trace(const std::stringstream& file) {
    std::istringstream text(file.str());
    boost::property_tree::ptree root;
    boost::property_tree::read_json(text, root);
    lost = root.get<std::uint64_t>("otherData.lost_events");
    for (const auto& [key, one] : root.get_child("traceEvents")) {
      if (one.get<std::string>("ph") == "X") {
        events.push_back({one.get<std::string>("name"), one.get<std::string>("args.pool"),
                          one.get<std::string>("tid"), one.get<double>("ts"),
                          one.get<double>("dur"), one.get<std::size_t>("args.slots")});
      } else if (one.get<std::string>("ph") == "C") {
        for (const auto& [series, value] : one.get_child("args")) {
          curves[one.get<std::string>("name") + ' ' + series].push_back(
              {one.get<double>("ts"), value.get_value<std::size_t>()});
        }
      } else if (one.get<std::string>("name") == "thread_name") {
        EXPECT_TRUE(
            threads.emplace(one.get<std::string>("tid"), one.get<std::string>("args.name")).second);
      }
    }
  }

  [[nodiscard]] std::vector<seen_event> all(const std::string& what,
                                            const std::string& pool) const {
    std::vector<seen_event> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [&](const seen_event& one) { return one.what == what && one.pool == pool; });
    return found;
  }

  /// Returns the values of a curve, which Perfetto calls by the name of the counter and the series.
  [[nodiscard]] std::vector<std::size_t> values(const std::string& curve) const {
    const auto found = curves.find(curve);
    std::vector<std::size_t> all;
    for (const seen_point& one :
         found != curves.end() ? found->second : std::vector<seen_point>()) {
      all.push_back(one.value);
    }
    return all;
  }

  std::vector<seen_event> events;
  std::map<std::string, std::vector<seen_point>> curves;
  std::map<std::string, std::string> threads;
  std::uint64_t lost = 0;
};

double now() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <class F>
seen_trace trace_of(const F& f) {
  std::stringstream file;
  {
    trace recording(file);
    f();
  }
  return seen_trace(file);
}

template <class Pool>
void acquire_and_release(Pool& pool, std::size_t objects) {
  std::vector<typename Pool::lease_type> leases;
  for (std::size_t i = 0; i < objects; ++i) {
    leases.push_back(pool.acquire());
  }
}

TEST(Trace, TellsOfRefillsFlushesAndThefts) {
  object_pool<int> jobs{{.capacity = 1000, .name = "jobs"}};
  const double begin = now();
  const seen_trace seen = trace_of([&] {
    acquire_and_release(jobs, 600);
    std::thread([&] { acquire_and_release(jobs, 1000); }).join();
  });
  const slot_pool_stats stats = jobs.stats();
  EXPECT_EQ(seen.all("refill", "jobs").size(), stats.refills);
  EXPECT_GE(stats.refills, 1U);
  EXPECT_EQ(seen.all("flush", "jobs").size(), stats.flushes);
  EXPECT_GE(stats.flushes, 1U);
  const auto thefts = seen.all("theft", "jobs");
  ASSERT_GE(thefts.size(), 1U);
  EXPECT_GE(thefts.front().slots, 1U);
  EXPECT_EQ(seen.threads.size(), 2U);
  double last = begin;
  for (const seen_event& one : seen.events) {
    EXPECT_GE(one.begin, begin - 1);
    EXPECT_LE(one.begin + one.duration, now() + 1);
    EXPECT_TRUE(seen.threads.contains(one.thread));
    last = std::max(last, one.begin);
  }
  EXPECT_GT(last, begin);
  EXPECT_EQ(seen.lost, 0U);
}

TEST(Trace, CountsTheSlotsOfARefill) {
  object_pool<int> jobs{{.capacity = 1000, .name = "jobs"}};
  std::size_t drawn = 0;
  const seen_trace seen = trace_of([&] {
    const auto one = jobs.acquire();
    drawn = 1 + jobs.stats().cached;
  });
  ASSERT_EQ(seen.all("refill", "jobs").size(), 1U);
  EXPECT_EQ(seen.all("refill", "jobs").front().slots, drawn);
}

TEST(Trace, AWaitLastsAsLongAsItDid) {
  object_pool<int> one{{.capacity = 1, .name = "one", .when_full = when_full::wait}};
  const seen_trace seen = trace_of([&] {
    auto mine = one.acquire();
    EXPECT_FALSE(one.acquire_for(20ms));
    std::thread waiting([&] { (void)one.acquire(); });
    while (one.stats().waiting == 0) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(5ms);
    mine.reset();
    waiting.join();
  });
  const auto waits = seen.all("wait", "one");
  ASSERT_EQ(waits.size(), 2U);
  const auto& timed_out = waits[waits[0].slots == 0 ? 0 : 1];
  const auto& served = waits[waits[0].slots == 0 ? 1 : 0];
  EXPECT_EQ(timed_out.slots, 0U);
  EXPECT_GE(timed_out.duration, 20'000);
  EXPECT_EQ(served.slots, 1U);
  EXPECT_GE(served.duration, 5'000);
}

TEST(Trace, TellsOfGrowth) {
  const seen_trace seen = trace_of([] {
    object_pool<int> more{{.name = "more", .max_capacity = 1 << 16, .when_full = when_full::grow}};
    (void)more.acquire();
  });
  const auto grown = seen.all("grow", "more");
  ASSERT_EQ(grown.size(), 1U);
  EXPECT_GE(grown.front().slots, 1U);
}

TEST(Trace, TellsOfCreatesAndWaitsForResources) {
  bool fails = false;
  const auto connect = [&fails] {
    std::this_thread::sleep_for(20ms);
    if (std::exchange(fails, true)) {
      throw std::runtime_error("no server");
    }
    return 7;
  };
  const seen_trace seen = trace_of([&] {
    resource_pool<int> db{
        connect, {.max_size = 2, .name = "db", .on_create_error = create_errors::fail_fast}};
    const auto mine = db.acquire();
    EXPECT_THROW((void)db.acquire_for(100ms), acquire_error);
  });
  const auto creates = seen.all("create", "db");
  ASSERT_GE(creates.size(), 2U);
  EXPECT_EQ(std::count_if(creates.begin(), creates.end(),
                          [](const seen_event& one) { return one.slots == 1; }),
            1);
  EXPECT_GE(creates[0].duration, 20'000);
  const auto waits = seen.all("wait", "db");
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].slots, 1U);
  EXPECT_EQ(waits[1].slots, 0U);
  EXPECT_GE(waits[0].duration, 20'000);
}

TEST(Trace, SaysNothingOfHits) {
  object_pool<int, counting> counted{{.capacity = 1000, .name = "counted"}};
  const seen_trace seen = trace_of([&] {
    for (int i = 0; i < 100; ++i) {
      acquire_and_release(counted, 1);
    }
  });
  EXPECT_EQ(counted.stats().hits, 99U);
  EXPECT_EQ(seen.events.size(), 1U);  // the refill
}

TEST(Trace, NamesEachKindOfPoolEvenIfItHasEnded) {
  const seen_trace seen = trace_of([] {
    block_resource nodes{{.block_bytes = 32, .blocks = 100, .name = "no\"des\\\n\xC3\xA4"}};
    nodes.deallocate(nodes.allocate(32), 32);
    object_pool<int> jobs{{.capacity = 1000, .name = "a name of more than thirty-one characters"}};
    (void)jobs.acquire();
    object_pool<int> cut{{.capacity = 1000, .name = "a character in the thirty-firs\xC3\xA4"}};
    (void)cut.acquire();
    concurrent_slot_map<int> sparks{{.max_size = 1000, .name = "sparks"}};
    (void)sparks.insert(1);
  });
  EXPECT_EQ(seen.all("refill", "sparks").size(), 1U);
  EXPECT_EQ(seen.all("refill", "no?des?\?\xC3\xA4").size(), 1U);
  EXPECT_EQ(seen.all("refill", "a character in the thirty-firs").size(), 1U);
  EXPECT_EQ(seen.all("refill", "a name of more than thirty-one ").size(), 1U);
}

TEST(Trace, SaysNothingOfWhatBeganBeforeOrAfter) {
  object_pool<int> one{{.capacity = 1, .name = "one"}};
  auto mine = one.acquire();
  std::thread waiting([&] { (void)one.acquire_for(30s); });
  while (one.stats().waiting == 0) {
    std::this_thread::yield();
  }
  const seen_trace seen = trace_of([&] {
    mine.reset();
    waiting.join();
  });
  EXPECT_EQ(seen.all("wait", "one").size(), 0U);
  EXPECT_FALSE((mine = one.acquire(), one.acquire_for(1ms)));
  EXPECT_EQ(trace_of([] {}).events.size(), 0U);
}

TEST(Trace, LosesExactlyWhatFindsNoRoom) {
  object_pool<int> jobs{{.capacity = 1000, .name = "jobs", .max_cached = 8}};
  const auto make_trips = [&](std::size_t up_to) {
    // Each thread has the number and the ring of the previous one.
    std::thread([&] {
      do {
        acquire_and_release(jobs, 100);
      } while (jobs.stats().refills + jobs.stats().flushes < up_to);
    }).join();
  };
  std::stringstream file;
  std::uint64_t lost = 0;
  {
    trace recording(file);
    make_trips(trace::events_per_thread - 1000);
    EXPECT_EQ(recording.lost(), 0U);
    make_trips(trace::events_per_thread + 1000);
    lost = recording.lost();
    recording.drain();
    make_trips(0);  // there is space again
    EXPECT_EQ(recording.lost(), lost);
  }
  const seen_trace seen(file);
  const slot_pool_stats stats = jobs.stats();
  EXPECT_EQ(seen.lost, lost);
  EXPECT_GE(lost, 1000U);
  EXPECT_EQ(seen.events.size() + lost, stats.refills + stats.flushes);
  EXPECT_EQ(trace_of([] {}).lost, 0U) << "the next trace begins anew";
}

TEST(Trace, KeepsEventsOfThreadsThatHaveEnded) {
  object_pool<int> one{{.capacity = 1, .name = "one"}};
  const auto mine = one.acquire();
  const seen_trace seen = trace_of([&] {
    for (int i = 0; i < 10; ++i) {
      std::thread([&] {
        detail::platform::name_thread("waits in vain");
        EXPECT_FALSE(one.acquire_for(1ms));
      }).join();
    }
  });
  EXPECT_EQ(seen.all("wait", "one").size(), 10U);
  EXPECT_GE(seen.threads.size(), 1U);  // the system may reuse a number
  for (const auto& [thread, name] : seen.threads) {
    EXPECT_EQ(name, "waits in vain");
  }
}

// ---- curves

TEST(TraceCurves, FollowTheUseOfAnObjectPool) {
  registry pools;
  object_pool<int> jobs{{.capacity = 1000, .name = "jobs", .registry = &pools}};
  std::stringstream file;
  const double begin = now();
  {
    trace recording(file, pools);
    std::vector<lease<int>> mine;
    for (const std::size_t wanted : {300U, 301U, 40U, 40U, 1000U, 0U, 7U}) {
      while (mine.size() < wanted) {
        mine.push_back(jobs.acquire());
      }
      mine.resize(wanted);
      recording.drain();
    }
  }
  const seen_trace seen(file);
  EXPECT_THAT(seen.values("jobs#1 in_use"), ElementsAre(0, 300, 301, 40, 40, 1000, 0, 7, 0));
  EXPECT_THAT(seen.values("jobs#1 waiting"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(seen.curves.size(), 2U);
  double last = begin - 1;
  for (const seen_point& one : seen.curves.at("jobs#1 in_use")) {
    EXPECT_GE(one.when, last);
    last = one.when;
  }
  EXPECT_LE(last, now() + 1);
}

TEST(TraceCurves, CountHitsOfEveryThread) {
  registry pools;
  object_pool<int> jobs{{.capacity = 1000, .name = "jobs", .registry = &pools}};
  std::stringstream file;
  {
    trace recording(file, pools);
    std::array<std::vector<lease<int>>, 3> held;
    const test::parked_crew crew(3, [&](unsigned me) {
      acquire_and_release(jobs, 50);
      for (unsigned i = 0; i <= me; ++i) {
        held.at(me).push_back(jobs.acquire());
      }
    });
    recording.drain();
    held = {};
  }
  EXPECT_THAT(seen_trace(file).values("jobs#1 in_use"), ElementsAre(0, 6, 0));
}

TEST(TraceCurves, FollowUsesAndWaitsOfAResourcePool) {
  registry pools;
  resource_pool<int> db{[] { return 7; }, {.max_size = 2, .name = "db", .registry = &pools}};
  std::stringstream file;
  {
    trace recording(file, pools);
    auto one = db.acquire();
    auto other = db.acquire();
    recording.drain();
    std::thread waiting([&] { (void)db.acquire(); });
    while (db.stats().waiting == 0) {
      std::this_thread::yield();
    }
    recording.drain();
    one.reset();
    waiting.join();
    recording.drain();
  }
  const seen_trace seen(file);
  EXPECT_THAT(seen.values("db#1 in_use"), ElementsAre(0, 2, 2, 1, 0));
  EXPECT_THAT(seen.values("db#1 waiting"), ElementsAre(0, 0, 1, 0, 0));
}

TEST(TraceCurves, ExistForEachKindOfPoolInTheRegistry) {
  registry pools;
  const object_pool<int> elsewhere{{.capacity = 1, .name = "elsewhere"}};
  block_resource nodes{{.sizes = {{32, 9}, {64, 9}}, .name = "nodes", .registry = &pools}};
  concurrent_slot_map<int> sparks{{.max_size = 9, .name = "sparks", .registry = &pools}};
  keyed_resource_pool<int, int> shards{
      [](int key) { return key; },
      {.max_total = 2, .each_key = {.max_size = 2, .name = "shards", .registry = &pools}}};
  std::stringstream file;
  {
    trace recording(file, pools);
    nodes.deallocate(nodes.allocate(32), 32);
    (void)nodes.try_allocate(64);
    (void)sparks.insert(1);
    const auto one = shards.at(1).acquire();
    const auto other = shards.at(2).acquire();
    recording.drain();
  }
  const seen_trace seen(file);
  EXPECT_THAT(seen.values("nodes[32]#1 in_use"), ElementsAre(0, 0, 0));
  EXPECT_THAT(seen.values("nodes[64]#2 in_use"), ElementsAre(0, 1, 1));
  EXPECT_THAT(seen.values("sparks#3 in_use"), ElementsAre(0, 1, 1));
  EXPECT_THAT(seen.values("shards#4 in_use"), ElementsAre(0, 2, 0));
  EXPECT_THAT(seen.values("shards#4 waiting"), ElementsAre(0, 0, 0));
  EXPECT_EQ(seen.curves.size(), 5U) << "callers cannot wait for blocks and values of maps";
}

TEST(TraceCurves, BeginAndEndWithTheirPool) {
  registry pools;
  std::optional<object_pool<int>> first;
  std::stringstream file;
  {
    trace recording(file, pools);
    for (int life = 0; life < 2; ++life) {
      first.emplace(object_pool_options{.capacity = 9, .name = "jobs", .registry = &pools});
      const object_pool<int> other{{.capacity = 9, .name = "jobs", .registry = &pools}};
      auto job = first->acquire();
      recording.drain();
      job.reset();
      first.reset();
    }
    recording.drain();
    recording.drain();
  }
  const seen_trace seen(file);
  EXPECT_THAT(seen.values("jobs#1 in_use"), ElementsAre(1, 0));
  EXPECT_THAT(seen.values("jobs#2 in_use"), ElementsAre(0, 0));
  EXPECT_THAT(seen.values("jobs#3 in_use"), ElementsAre(1, 0));
  EXPECT_THAT(seen.values("jobs#4 in_use"), ElementsAre(0, 0));
}

TEST(TraceCurves, HaveNamesThatNeedNoEscaping) {
  registry pools;
  const std::string long_name(300, 'x');
  const object_pool<int> odd{{.capacity = 1, .name = "o\"d\\d\n\xFF", .registry = &pools}};
  const object_pool<int> wide{{.capacity = 1, .name = long_name, .registry = &pools}};
  std::stringstream file;
  { const trace recording(file, pools); }
  const seen_trace seen(file);
  EXPECT_THAT(seen.values("o?d?d??#1 in_use"), ElementsAre(0, 0));
  EXPECT_THAT(seen.values(long_name + "#2 in_use"), ElementsAre(0, 0));
}

TEST(TraceCurves, AreThoseOfTheProcessUnlessARegistryIsGiven) {
  const object_pool<int> jobs{
      {.capacity = 1, .name = "global jobs", .registry = &registry::global()}};
  registry none;
  const auto has_jobs = [](const seen_trace& seen) {
    return std::any_of(seen.curves.begin(), seen.curves.end(),
                       [](const auto& one) { return one.first.find("global jobs") == 0; });
  };
  EXPECT_TRUE(has_jobs(trace_of([] {})));
  std::stringstream file;
  { const trace recording(file, none); }
  EXPECT_FALSE(has_jobs(seen_trace(file)));
}

TEST(TraceCurves, IgnoreTheLocaleOfTheStream) {
  struct grouping : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\1"; }
  };
  registry pools;
  object_pool<int> jobs{{.capacity = 2000, .name = "jobs", .registry = &pools}};
  std::stringstream file;
  file.imbue(std::locale(file.getloc(), new grouping));
  {
    trace recording(file, pools);
    std::vector<lease<int>> mine(1234);
    std::generate(mine.begin(), mine.end(), [&] { return jobs.acquire(); });
    recording.drain();
  }
  EXPECT_THAT(seen_trace(file).values("jobs#1 in_use"), ElementsAre(0, 1234, 0));
}

// ---- streams that throw

/// A buffer that accepts only so many writes.
struct limited_buffer : std::stringbuf {
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return writes_left-- > 0 ? std::stringbuf::xsputn(text, size) : 0;
  }
  int writes_left = std::numeric_limits<int>::max();
};

TEST(Trace, ContinuesAfterTheStreamThrewAtAnyEntry) {
  bool threw = true;
  for (int accepted = 0; threw; ++accepted) {
    registry pools;
    object_pool<int> jobs{{.capacity = 1000, .name = "jobs", .registry = &pools, .max_cached = 8}};
    std::optional<object_pool<int>> brief;
    limited_buffer buffer;
    std::ostream file(&buffer);
    file.exceptions(std::ios::badbit);
    {
      trace recording(file, pools);
      acquire_and_release(jobs, 20);
      std::thread([&] { acquire_and_release(jobs, 20); }).join();
      brief.emplace(object_pool_options{.capacity = 2, .name = "brief", .registry = &pools});
      const auto job = jobs.acquire();
      auto other = brief->acquire();
      buffer.writes_left = accepted;
      try {
        recording.drain();
        threw = false;
      } catch (const std::ios::failure&) {
        file.clear();
      }
      buffer.writes_left = std::numeric_limits<int>::max();
      other.reset();
      brief.reset();
      acquire_and_release(jobs, 20);
      recording.drain();
    }
    const seen_trace seen(std::stringstream(buffer.str()));
    const slot_pool_stats stats = jobs.stats();
    EXPECT_EQ(seen.all("refill", "jobs").size(), stats.refills) << accepted;
    EXPECT_EQ(seen.all("flush", "jobs").size(), stats.flushes) << accepted;
    EXPECT_EQ(seen.lost, 0U);
    const std::vector<std::size_t> used = seen.values("jobs#1 in_use");
    EXPECT_GE(used.size(), 3U) << accepted;
    EXPECT_LE(used.size(), 4U) << accepted;
    EXPECT_EQ(used[used.size() - 2], 1U) << accepted;
    EXPECT_EQ(used.back(), 0U) << accepted;
    const std::vector<std::size_t> ended = seen.values("brief#2 in_use");
    EXPECT_TRUE(ended.empty() || ended.back() == 0) << accepted;
    EXPECT_TRUE(threw || accepted > 8) << "a drain of events and points";
  }
}

TEST(TraceCurves, StayWithinThePoolBesideFourThreads) {
  constexpr std::size_t capacity = 200;
  registry pools;
  object_pool<int> jobs{
      {.capacity = capacity, .name = "jobs", .registry = &pools, .max_cached = 8}};
  std::stringstream file;
  {
    trace recording(file, pools);
    std::vector<std::thread> crew;
    std::atomic<int> left{4};
    for (int i = 0; i < 4; ++i) {
      crew.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          acquire_and_release(jobs, capacity / 4);
        }
        --left;
      });
    }
    while (left != 0) {
      recording.drain();
    }
    for (std::thread& one : crew) {
      one.join();
    }
  }
  const std::vector<std::size_t> used = seen_trace(file).values("jobs#1 in_use");
  EXPECT_LE(*std::max_element(used.begin(), used.end()), capacity);
  EXPECT_EQ(used.front(), 0U);
  EXPECT_EQ(used.back(), 0U);
}

// ---- one trace

TEST(Trace, ThereIsOneAtATime) {
  std::stringstream file;
  std::stringstream other;
  std::optional<trace> first(file);
  EXPECT_THROW(trace{other}, std::logic_error);
  EXPECT_EQ(other.str(), "");
  first.reset();
  EXPECT_NO_THROW(trace{other});
  (void)seen_trace(other);
}

TEST(Trace, EndsThoughItsStreamThrows) {
  std::stringstream file;
  {
    trace recording(file);
    object_pool<int> jobs{{.capacity = 1000, .name = "jobs"}};
    (void)jobs.acquire();
    file.setstate(std::ios::badbit);
    EXPECT_THROW(file.exceptions(std::ios::badbit), std::ios::failure);
    EXPECT_THROW(recording.drain(), std::ios::failure);
  }
  EXPECT_EQ(trace_of([] {}).events.size(), 0U);
}

TEST(Trace, ReadsBesideFourThreads) {
  object_pool<int> jobs{{.capacity = 10'000, .name = "jobs", .max_cached = 8}};
  std::stringstream file;
  {
    trace recording(file);
    std::vector<std::thread> crew;
    std::atomic<int> left{4};
    for (int i = 0; i < 4; ++i) {
      crew.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          acquire_and_release(jobs, 100);
        }
        --left;
      });
    }
    while (left != 0) {
      recording.drain();
    }
    for (std::thread& one : crew) {
      one.join();
    }
  }
  const seen_trace seen(file);
  const slot_pool_stats stats = jobs.stats();
  EXPECT_EQ(stats.thefts, 0U);
  EXPECT_GE(seen.events.size(), 400U);
  EXPECT_EQ(seen.events.size() + seen.lost, stats.refills + stats.flushes);
}

TEST(Trace, ReadsBesideThreadsThatStealAndWait) {
  object_pool<int> few{{.capacity = 2, .name = "few", .when_full = when_full::wait}};
  const seen_trace seen = trace_of([&] {
    std::vector<lease<int>> mine;
    mine.push_back(few.acquire());
    mine.push_back(few.acquire());
    std::vector<std::thread> crew;
    for (int i = 0; i < 4; ++i) {
      crew.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          const auto one = few.acquire();
          std::this_thread::yield();
        }
      });
    }
    while (few.stats().waiting != crew.size()) {
      std::this_thread::yield();
    }
    mine.clear();
    for (std::thread& one : crew) {
      one.join();
    }
  });
  EXPECT_GE(seen.all("wait", "few").size(), 4U);
  EXPECT_EQ(seen.threads.size(), 4U);
}

}  // namespace
}  // namespace lido
