/// The one order of all seq_cst accesses and fences, as C++20 has it (Batty, Donaldson, Wickerson,
/// Overhauling SC Atomics in C11 and OpenCL, POPL 2016; Boehm, Giroux, Vafeiadis, P0668).
#include <fmt/format.h>

#include <array>

#include "lido/concurrency/atomic.hpp"
#include "litmus/litmus.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using enum std::memory_order;
using word = lido::detail::atomic<int>;

/// Two accesses of one thread, perhaps with a fence between them.
struct pair {
  std::memory_order first;
  bool fence;
  std::memory_order second;
};

constexpr pair all_seq_cst{seq_cst, false, seq_cst};
constexpr pair full_fence_between{relaxed, true, relaxed};
constexpr pair store_seq_cst{seq_cst, false, relaxed};
constexpr pair load_seq_cst{relaxed, false, seq_cst};
constexpr pair acquire_loads{acquire, false, acquire};

template <pair Orders>
void fence_of() {
  if (Orders.fence) {
    lido::detail::full_fence();
  }
}

template <pair Orders>
int store_and_load(word& stored, word& loaded) {
  stored.store(1, Orders.first);
  fence_of<Orders>();
  return loaded.load(Orders.second);
}

template <pair Orders>
void load_twice(const word& first, const word& second, int& a, int& b) {
  a = first.load(Orders.first);
  fence_of<Orders>();
  b = second.load(Orders.second);
}

template <pair First, pair Second>
void store_buffering() {
  word x(0);
  word y(0);
  int a = 0;
  int b = 0;
  in_threads([&] { a = store_and_load<First>(x, y); }, [&] { b = store_and_load<Second>(y, x); });
  record(fmt::format("{} {}", a, b));
}

// The load is that of a CAS that fails.
template <std::memory_order Failure>
void store_buffering_failed() {
  word x(0);
  word y(0);
  int a = 7;
  int b = 7;
  in_threads(
      [&] {
        x.store(1, seq_cst);
        (void)y.compare_exchange_strong(a, 8, seq_cst, Failure);
      },
      [&] {
        y.store(1, seq_cst);
        (void)x.compare_exchange_strong(b, 8, seq_cst, Failure);
      });
  record(fmt::format("{} {}", a, b));
}

// A thread that has announced itself by a relaxed change reads it back before it looks.
template <std::memory_order ReadBack>
void store_buffering_read_back() {
  word x(0);
  word y(0);
  int a = 0;
  int b = 0;
  in_threads(
      [&] {
        (void)x.fetch_add(1, relaxed);
        (void)x.load(ReadBack);
        a = y.load(seq_cst);
      },
      [&] { b = store_and_load<all_seq_cst>(y, x); });
  record(fmt::format("{} {}", a, b));
}

template <std::memory_order Store, pair First, pair Second>
void independent_reads() {
  word x(0);
  word y(0);
  std::array<int, 4> r{};
  in_threads([&] { x.store(1, Store); }, [&] { y.store(1, Store); },
             [&] { load_twice<First>(x, y, r[0], r[1]); },
             [&] { load_twice<Second>(y, x, r[2], r[3]); });
  record(fmt::format("{} {} {} {}", r[0], r[1], r[2], r[3]));
}

template <pair Reader, pair Writer>
void read_to_write_causality() {
  word x(0);
  word y(0);
  std::array<int, 3> r{};
  in_threads([&] { x.store(1, relaxed); }, [&] { load_twice<Reader>(x, y, r[0], r[1]); },
             [&] { r[2] = store_and_load<Writer>(y, x); });
  record(fmt::format("{} {} {}", r[0], r[1], r[2]));
}

template <pair Writer, pair Reader>
void stores_and_load() {
  word x(0);
  word y(0);
  int read = 0;
  in_threads(
      [&] {
        x.store(1, Writer.first);
        fence_of<Writer>();
        y.store(1, Writer.second);
      },
      [&] {
        y.store(2, Reader.first);
        fence_of<Reader>();
        read = x.load(Reader.second);
      });
  record(fmt::format("{} {}", y.load(relaxed), read));
}

void two_plus_two_writes() {
  word x(0);
  word y(0);
  const auto store_both = [](word& one, word& two) {
    one.store(1, relaxed);
    lido::detail::full_fence();
    two.store(2, relaxed);
  };
  in_threads([&] { store_both(x, y); }, [&] { store_both(y, x); });
  record(fmt::format("{} {}", x.load(relaxed), y.load(relaxed)));
}

// Since C++20 a release that a seq_cst change acquires does not bring what is before it into the
// total order: Power does as much.
void release_between() {
  word x(0);
  word y(0);
  int changed = 0;
  int seen = 0;
  int read = 0;
  in_threads(
      [&] {
        x.store(1, seq_cst);
        y.store(1, release);
      },
      [&] {
        changed = y.fetch_add(1, seq_cst);
        seen = y.load(relaxed);
      },
      [&] {
        y.store(3, seq_cst);
        read = x.load(seq_cst);
      });
  record(fmt::format("{} {} {}", changed, seen, read));
}

constexpr auto yes = expectation::allowed;
constexpr auto no = expectation::forbidden;

using rows = std::vector<outcome_row>;

rows buffered(expectation both_old) {
  return {{"0 0", both_old}, {"0 1", yes}, {"1 0", yes}, {"1 1", yes}};
}

rows disagreeing(expectation readers) {
  return {{"1 0 1 0", readers}, {"1 1 1 1", yes}, {"0 0 0 0", yes}};
}

rows causality(expectation old) {
  return {{"1 0 0", old}, {"0 0 0", yes}, {"1 1 0", yes}, {"1 0 1", yes}, {"1 1 1", yes}};
}

rows second_store_last(expectation old) {
  return {{"2 0", old}, {"1 0", yes}, {"1 1", yes}, {"2 1", yes}};
}

void add_store_buffering(std::vector<litmus>& list) {
  constexpr pair fence = full_fence_between;
  list.insert(list.end(), {{"SB+rlx+sc", "stores relaxed, loads seq_cst",
                            &store_buffering<load_seq_cst, load_seq_cst>, buffered(yes)},
                           {"SB+full+sc", "a full fence; all seq_cst",
                            &store_buffering<fence, all_seq_cst>, buffered(no)},
                           {"SB+full+st", "a full fence; only the store seq_cst",
                            &store_buffering<fence, store_seq_cst>, buffered(yes)},
                           {"SB+full+ld", "a full fence; only the load seq_cst",
                            &store_buffering<fence, load_seq_cst>, buffered(yes)},
                           {"SB+cas+sc", "loads by CASs that fail, seq_cst",
                            &store_buffering_failed<seq_cst>, buffered(no)},
                           {"SB+cas+rlx", "loads by CASs that fail, relaxed",
                            &store_buffering_failed<relaxed>, buffered(yes)},
                           {"SB+back+sc", "a relaxed change, read back seq_cst",
                            &store_buffering_read_back<seq_cst>, buffered(no)},
                           {"SB+back+rlx", "a relaxed change, read back relaxed",
                            &store_buffering_read_back<relaxed>, buffered(yes)}});
}

void add_reads(std::vector<litmus>& list) {
  constexpr pair fence = full_fence_between;
  list.insert(list.end(),
              {{"IRIW+full", "all relaxed, full fences", &independent_reads<relaxed, fence, fence>,
                disagreeing(no)},
               {"IRIW+ld", "stores relaxed, loads seq_cst",
                &independent_reads<relaxed, all_seq_cst, all_seq_cst>, disagreeing(no)},
               {"IRIW+st", "stores seq_cst, loads acquire",
                &independent_reads<seq_cst, acquire_loads, acquire_loads>, disagreeing(yes)},
               {"IRIW+full+sc", "one reader fences, one is seq_cst",
                &independent_reads<relaxed, fence, all_seq_cst>, disagreeing(no)},
               {"IRIW+full+acq", "one reader fences, one acquires",
                &independent_reads<seq_cst, fence, acquire_loads>, disagreeing(yes)},
               {"RWC+full", "full fences", &read_to_write_causality<fence, fence>, causality(no)},
               {"RWC+sc", "all but the first store seq_cst",
                &read_to_write_causality<all_seq_cst, all_seq_cst>, causality(no)},
               {"RWC+full+sc", "the reader fences, the writer is seq_cst",
                &read_to_write_causality<fence, all_seq_cst>, causality(no)},
               {"RWC+acq+full", "the reader acquires, the writer fences",
                &read_to_write_causality<acquire_loads, fence>, causality(yes)}});
}

void add_stores(std::vector<litmus>& list) {
  constexpr pair fence = full_fence_between;
  list.insert(
      list.end(),
      {{"R+sc", "all seq_cst", &stores_and_load<all_seq_cst, all_seq_cst>, second_store_last(no)},
       {"R+full", "full fences", &stores_and_load<fence, fence>, second_store_last(no)},
       {"R+full+sc", "the writer fences, the reader is seq_cst",
        &stores_and_load<fence, all_seq_cst>, second_store_last(no)},
       {"R+sc+full", "the writer is seq_cst, the reader fences",
        &stores_and_load<all_seq_cst, fence>, second_store_last(no)},
       {"R+full+ld", "the writer fences, only the load is seq_cst",
        &stores_and_load<fence, load_seq_cst>, second_store_last(yes)},
       {"2+2W+full",
        "full fences",
        &two_plus_two_writes,
        {{"1 1", no}, {"1 2", yes}, {"2 1", yes}, {"2 2", yes}}},
       {"Z6.U",
        "a seq_cst change acquires a release",
        &release_between,
        {{"1 3 0", expectation::gap},
         {"1 3 1", yes},
         {"1 2 1", yes},
         {"0 1 0", yes},
         {"3 4 0", yes}}}});
}

}  // namespace

std::span<const litmus> total_order_litmus() {
  static const std::vector<litmus> list = [] {
    std::vector<litmus> all;
    add_store_buffering(all);
    add_reads(all);
    add_stores(all);
    return all;
  }();
  return list;
}

}  // namespace model
