/// Litmus tests of the full fence, which is a seq_cst fence of the standard: what it must order
/// since C++20 (P0668). They also show what it leaves open if the other side has none. The rest is
/// in total_order.cpp.
#include <fmt/format.h>

#include <array>

#include "lido/concurrency/atomic.hpp"
#include "litmus/litmus.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using enum std::memory_order;
using word = lido::detail::atomic<int>;

enum class fence { none, full };
using enum fence;

void run(fence which) {
  if (which == full) {
    lido::detail::full_fence();
  }
}

template <std::memory_order Store, fence First, std::memory_order Load, fence Second>
void message_passing() {
  word data(0);
  word flag(0);
  int seen = 0;
  int read = 0;
  in_threads(
      [&] {
        data.store(1, relaxed);
        run(First);
        flag.store(1, Store);
      },
      [&] {
        seen = flag.load(Load);
        run(Second);
        read = data.load(relaxed);
      });
  record(fmt::format("{} {}", seen, read));
}

template <fence First, fence Second>
void independent_reads() {
  word x(0);
  word y(0);
  std::array<int, 4> r{};
  in_threads([&] { x.store(1, relaxed); }, [&] { y.store(1, relaxed); },
             [&] {
               r[0] = x.load(relaxed);
               run(First);
               r[1] = y.load(relaxed);
             },
             [&] {
               r[2] = y.load(relaxed);
               run(Second);
               r[3] = x.load(relaxed);
             });
  record(fmt::format("{} {} {} {}", r[0], r[1], r[2], r[3]));
}

// Two stores to one word: the thread that comes second there does not see what the first did
// before.
template <fence First, fence Second>
void store_then_read() {
  word x(0);
  word y(0);
  int read = 0;
  in_threads(
      [&] {
        x.store(1, relaxed);
        run(First);
        y.store(1, relaxed);
      },
      [&] {
        y.store(2, relaxed);
        run(Second);
        read = x.load(relaxed);
      });
  record(fmt::format("{} {}", y.load(relaxed), read));
}

constexpr auto yes = expectation::allowed;
constexpr auto no = expectation::forbidden;
constexpr auto surplus = expectation::surplus;

using rows = std::vector<outcome_row>;

// `old_data`: whether a thread that sees the new flag may miss the new data, or may only in this
// model.
rows messages(expectation old_data) {
  return {{"0 0", yes}, {"0 1", yes}, {"1 0", old_data}, {"1 1", yes}};
}

// The readers see two stores in different orders.
rows reads(expectation split) {
  return {{"1 0 1 0", split}, {"1 1 1 1", yes}, {"0 0 0 0", yes}};
}

rows second_unseen(expectation unseen) {
  return {{"1 0", yes}, {"1 1", yes}, {"2 0", unseen}, {"2 1", yes}};
}

}  // namespace

std::span<const litmus> fence_litmus() {
  static const std::vector<litmus> list{
      {"MP+full+full", "full fences", &message_passing<relaxed, full, relaxed, full>, messages(no)},
      {"MP+full+none", "a full fence before the flag",
       &message_passing<relaxed, full, relaxed, none>, messages(yes)},
      {"MP+none+full", "a full fence after the flag",
       &message_passing<relaxed, none, relaxed, full>, messages(yes)},
      {"MP+full+acq", "a full fence, flag read acquire",
       &message_passing<relaxed, full, acquire, none>, messages(surplus)},
      {"MP+rel+full", "flag release, a full fence", &message_passing<release, none, relaxed, full>,
       messages(surplus)},
      {"IRIW+full+none", "one full fence", &independent_reads<full, none>, reads(yes)},
      {"R+full+none", "a full fence between the stores", &store_then_read<full, none>,
       second_unseen(yes)},
      {"R+none+full", "a full fence before the load", &store_then_read<none, full>,
       second_unseen(yes)},
  };
  return list;
}

}  // namespace model
