/// The classic litmus tests (Alglave, Maranget, Tautschnig, Herding Cats, TOPLAS 2014), by their
/// usual names, and those for what the library leans on.
#include <fmt/format.h>

#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "litmus/litmus.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using enum std::memory_order;
using word = lido::detail::atomic<int>;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): one execution at a time
std::string last;

template <std::memory_order Store, std::memory_order Load>
void store_buffering() {
  word x(0);
  word y(0);
  int a = 0;
  int b = 0;
  in_threads(
      [&] {
        x.store(1, Store);
        a = y.load(Load);
      },
      [&] {
        y.store(1, Store);
        b = x.load(Load);
      });
  record(fmt::format("{} {}", a, b));
}

template <bool First, bool Second>
void store_buffering_full_fences() {
  word x(0);
  word y(0);
  int a = 0;
  int b = 0;
  const auto fence = [](bool there) {
    if (there) {
      lido::detail::full_fence();
    }
  };
  in_threads(
      [&] {
        x.store(1, relaxed);
        fence(First);
        a = y.load(relaxed);
      },
      [&] {
        y.store(1, relaxed);
        fence(Second);
        b = x.load(relaxed);
      });
  record(fmt::format("{} {}", a, b));
}

template <bool Light, bool Heavy>
void store_buffering_fences() {
  word x(0);
  word y(0);
  int a = 0;
  int b = 0;
  in_threads(
      [&] {
        x.store(1, relaxed);
        if (Light) {
          lido::detail::light_fence();
        }
        a = y.load(relaxed);
      },
      [&] {
        y.store(1, relaxed);
        if (Heavy) {
          (void)lido::detail::heavy_fence();
        } else {
          lido::detail::light_fence();
        }
        b = x.load(relaxed);
      });
  record(fmt::format("{} {}", a, b));
}

template <std::memory_order Store, std::memory_order Load>
void message_passing() {
  word data(0);
  word flag(0);
  int seen = 0;
  int read = 0;
  in_threads(
      [&] {
        data.store(1, relaxed);
        flag.store(1, Store);
      },
      [&] {
        seen = flag.load(Load);
        read = data.load(relaxed);
      });
  record(fmt::format("{} {}", seen, read));
}

// The middle thread changes the flag without any order of its own.
void release_sequence() {
  word data(0);
  word flag(0);
  int seen = 0;
  int read = 0;
  in_threads(
      [&] {
        data.store(1, relaxed);
        flag.store(1, release);
      },
      [&] {
        int one = 1;
        (void)flag.compare_exchange_strong(one, 2, relaxed, relaxed);
      },
      [&] {
        seen = flag.load(acquire);
        read = data.load(relaxed);
      });
  record(fmt::format("{} {}", seen, read));
}

// Since C++20 a plain store of the same thread ends the release sequence.
void store_after_release() {
  word data(0);
  word flag(0);
  int seen = 0;
  int read = 0;
  in_threads(
      [&] {
        data.store(1, relaxed);
        flag.store(1, release);
        flag.store(2, relaxed);
      },
      [&] {
        seen = flag.load(acquire);
        read = data.load(relaxed);
      });
  record(fmt::format("{} {}", seen, read));
}

template <std::memory_order Failure>
void failed_exchange() {
  word data(0);
  word flag(0);
  int seen = 7;
  int read = 0;
  in_threads(
      [&] {
        data.store(1, relaxed);
        flag.store(1, release);
      },
      [&] {
        (void)flag.compare_exchange_strong(seen, 8, acquire, Failure);
        read = data.load(relaxed);
      });
  record(fmt::format("{} {}", seen, read));
}

void load_buffering() {
  word x(0);
  word y(0);
  int a = 0;
  int b = 0;
  in_threads(
      [&] {
        a = x.load(relaxed);
        y.store(1, relaxed);
      },
      [&] {
        b = y.load(relaxed);
        x.store(1, relaxed);
      });
  record(fmt::format("{} {}", a, b));
}

template <std::memory_order Store, std::memory_order Load>
void independent_reads() {
  word x(0);
  word y(0);
  std::array<int, 4> r{};
  in_threads([&] { x.store(1, Store); }, [&] { y.store(1, Store); },
             [&] {
               r[0] = x.load(Load);
               r[1] = y.load(Load);
             },
             [&] {
               r[2] = y.load(Load);
               r[3] = x.load(Load);
             });
  record(fmt::format("{} {} {} {}", r[0], r[1], r[2], r[3]));
}

void coherence() {
  word x(0);
  int first = 0;
  int second = 0;
  in_threads(
      [&] {
        x.store(1, relaxed);
        x.store(2, relaxed);
      },
      [&] {
        first = x.load(relaxed);
        second = x.load(relaxed);
      });
  record(fmt::format("{} {}", first, second));
}

template <std::memory_order Store>
void two_plus_two_writes() {
  word x(0);
  word y(0);
  in_threads(
      [&] {
        x.store(1, Store);
        y.store(2, Store);
      },
      [&] {
        y.store(1, Store);
        x.store(2, Store);
      });
  record(fmt::format("{} {}", x.load(relaxed), y.load(relaxed)));
}

template <std::memory_order Load>
void write_to_read_causality() {
  word x(0);
  word y(0);
  int relayed = 0;
  int seen = 0;
  int read = 0;
  in_threads([&] { x.store(1, release); },
             [&] {
               relayed = x.load(Load);
               y.store(relayed, release);
             },
             [&] {
               seen = y.load(Load);
               read = x.load(relaxed);
             });
  record(fmt::format("{} {}", seen, read));
}

void atomic_change() {
  word x(0);
  const auto add = [&] { x.fetch_add(1, relaxed); };
  in_threads(add, add);
  record(fmt::format("{}", x.load(relaxed)));
}

template <bool Weak>
void exchange_alone() {
  word x(0);
  bool done = false;
  in_threads([&] {
    int zero = 0;
    done = Weak ? x.compare_exchange_weak(zero, 1, relaxed, relaxed)
                : x.compare_exchange_strong(zero, 1, relaxed, relaxed);
  });
  record(done ? "stored" : "failed");
}

constexpr auto yes = expectation::allowed;
constexpr auto no = expectation::forbidden;
constexpr auto gap = expectation::gap;

using rows = std::vector<outcome_row>;

// Each of two words is old or new.
const rows& any_of_four() {
  static const rows list{{"0 0", yes}, {"0 1", yes}, {"1 0", yes}, {"1 1", yes}};
  return list;
}

// A thread that sees the new flag sees the new data.
const rows& data_with_flag() {
  static const rows list{{"0 0", yes}, {"0 1", yes}, {"1 0", no}, {"1 1", yes}};
  return list;
}

std::vector<litmus> fences_and_messages() {
  const rows buffered{{"0 0", no}, {"0 1", yes}, {"1 0", yes}, {"1 1", yes}};
  const rows in_sequence{{"0 0", yes}, {"0 1", yes}, {"1 0", no},
                         {"1 1", yes}, {"2 0", no},  {"2 1", yes}};
  const rows split{{"0 0", yes}, {"0 1", yes}, {"1 0", no},
                   {"1 1", yes}, {"2 0", yes}, {"2 1", yes}};
  return {
      {"SB", "stores release, loads acquire", &store_buffering<release, acquire>, any_of_four()},
      {"SB+sc", "all seq_cst", &store_buffering<seq_cst, seq_cst>, buffered},
      {"SB+light+heavy", "the fence of the thread cache", &store_buffering_fences<true, true>,
       buffered},
      {"SB+sc+rlx", "stores seq_cst, loads relaxed", &store_buffering<seq_cst, relaxed>,
       any_of_four()},
      {"SB+light+light", "a light fence alone", &store_buffering_fences<true, false>,
       any_of_four()},
      {"SB+none+heavy", "a heavy fence alone", &store_buffering_fences<false, true>, any_of_four()},
      {"SB+full+full", "the fence of waiters", &store_buffering_full_fences<true, true>, buffered},
      {"SB+full+none", "a full fence alone", &store_buffering_full_fences<true, false>,
       any_of_four()},
      {"MP", "flag release and acquire", &message_passing<release, acquire>, data_with_flag()},
      {"MP+rlx", "flag relaxed", &message_passing<relaxed, relaxed>, any_of_four()},
      {"MP+rel+rlx", "flag release, read relaxed", &message_passing<release, relaxed>,
       any_of_four()},
      {"MP+rmw", "a relaxed change between release and acquire", &release_sequence, in_sequence},
      {"MP+store", "a relaxed store of the same thread between", &store_after_release, split},
      {"MP+cas+acq", "the flag read by a CAS that fails, acquire", &failed_exchange<acquire>,
       data_with_flag()},
      {"MP+cas+rlx", "the flag read by a CAS that fails, relaxed", &failed_exchange<relaxed>,
       any_of_four()},
  };
}

std::vector<litmus> orders_of_loads_and_stores() {
  return {
      {"LB",
       "loads before stores, relaxed",
       &load_buffering,
       {{"0 0", yes}, {"0 1", yes}, {"1 0", yes}, {"1 1", gap}}},
      {"IRIW",
       "release, acquire",
       &independent_reads<release, acquire>,
       {{"1 0 1 0", yes}, {"1 1 1 1", yes}, {"0 0 0 0", yes}}},
      {"IRIW+sc",
       "all seq_cst",
       &independent_reads<seq_cst, seq_cst>,
       {{"1 0 1 0", no}, {"1 1 1 1", yes}, {"0 0 0 0", yes}}},
      {"CoRR",
       "two loads of one word",
       &coherence,
       {{"1 0", no}, {"2 0", no}, {"2 1", no}, {"0 2", yes}, {"1 2", yes}}},
      {"2+2W",
       "release",
       &two_plus_two_writes<release>,
       {{"1 1", yes}, {"1 2", yes}, {"2 1", yes}, {"2 2", yes}}},
      {"2+2W+sc",
       "all seq_cst",
       &two_plus_two_writes<seq_cst>,
       {{"1 1", no}, {"1 2", yes}, {"2 1", yes}, {"2 2", yes}}},
      {"WRC", "release, acquire", &write_to_read_causality<acquire>, data_with_flag()},
      {"WRC+rlx", "read relaxed", &write_to_read_causality<relaxed>, any_of_four()},
      {"RMW", "two relaxed fetch_add", &atomic_change, {{"1", no}, {"2", yes}}},
      {"CAS+weak", "one weak CAS alone", &exchange_alone<true>, {{"stored", yes}, {"failed", yes}}},
      {"CAS+strong",
       "one strong CAS alone",
       &exchange_alone<false>,
       {{"stored", yes}, {"failed", no}}},
  };
}

}  // namespace

void record(std::string outcome) {
  last = std::move(outcome);
}

const std::string& recorded() {
  return last;
}

std::span<const litmus> memory_litmus() {
  static const std::vector<litmus> list = [] {
    std::vector<litmus> all = fences_and_messages();
    for (const litmus& each : orders_of_loads_and_stores()) {
      all.push_back(each);
    }
    return all;
  }();
  return list;
}

}  // namespace model
