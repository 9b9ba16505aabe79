/// The classic litmus tests (Alglave, Maranget, Tautschnig, Herding Cats, TOPLAS 2014), by their
/// usual names, and those for what the library leans on. Some ask for the one order of all seq_cst
/// accesses and fences in C++20. See Batty, Donaldson, Wickerson, Overhauling SC Atomics in C11 and
/// OpenCL, POPL 2016; Boehm, Giroux, Vafeiadis, P0668.
#include <algorithm>
#include <utility>

#include "litmus/litmus.hpp"

namespace model {

namespace {

using order = std::memory_order;
constexpr order rlx = order::relaxed;
constexpr order acq = order::acquire;
constexpr order rel = order::release;
constexpr order sc = order::seq_cst;

constexpr std::size_t x = 0;
constexpr std::size_t y = 1;

// The steps, by the letters of herd's tests.

constexpr step r(std::size_t word, order how) {
  return {.what = step::kind::load, .word = word, .order = how, .tells = true};
}
constexpr step w(std::size_t word, int value, order how) {
  return {.what = step::kind::store, .word = word, .order = how, .value = value};
}
constexpr step add(std::size_t word, order how) {
  return {.what = step::kind::add, .word = word, .order = how, .value = 1};
}
constexpr step cas(std::size_t word, int expected, int value, order success, order failure) {
  return {step::kind::strong_cas, word, success, value, failure, expected, /*tells=*/true};
}
/// Returns the same step with its value left out of the outcome.
constexpr step quiet(step which) {
  which.tells = false;
  return which;
}
/// Returns the same step with its value as part of the outcome.
constexpr step told(step which) {
  which.tells = true;
  return which;
}
constexpr step weak(step which) {
  which.what = step::kind::weak_cas;
  return which;
}
constexpr step copy(std::size_t word, order how) {
  return {.what = step::kind::store_read, .word = word, .order = how};
}
constexpr step full{.what = step::kind::full_fence};
constexpr step light{.what = step::kind::light_fence};
constexpr step heavy{.what = step::kind::heavy_fence};

/// Parses outcomes with a comma between them: "!" is forbidden, "?" a gap, "+" a surplus.
std::vector<outcome_row> parse(std::string_view text) {
  std::vector<outcome_row> rows;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    const auto expected = text[0] == '!'   ? expectation::forbidden
                          : text[0] == '?' ? expectation::gap
                          : text[0] == '+' ? expectation::surplus
                                           : expectation::allowed;
    const std::size_t start = expected == expectation::allowed ? 0 : 1;
    rows.push_back({text.substr(start, end - start), expected});
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return rows;
}

litmus test(std::string_view name, std::string_view program, std::string_view outcomes,
            std::vector<std::vector<step>> threads, std::vector<std::size_t> ends = {}) {
  return {name, program, &run_steps, parse(outcomes), std::move(threads), std::move(ends)};
}

using tests = std::vector<litmus>;
using thread = std::vector<step>;

constexpr auto any_of_four = "0 0, 0 1, 1 0, 1 1";
constexpr auto not_both_old = "!0 0, 0 1, 1 0, 1 1";

tests store_buffering() {
  const auto old = any_of_four;
  const auto buffered = not_both_old;
  const thread store_x{w(x, 1, rlx), r(y, rlx)};
  const thread store_x_full{w(x, 1, rlx), full, r(y, rlx)};
  const thread store_x_light{w(x, 1, rlx), light, r(y, rlx)};
  const thread store_y_heavy{w(y, 1, rlx), heavy, r(x, rlx)};
  const thread store_y_sc{w(y, 1, sc), r(x, sc)};
  return {
      test("SB", "stores release, loads acquire", old,
           {{w(x, 1, rel), r(y, acq)}, {w(y, 1, rel), r(x, acq)}}),
      test("SB+sc", "all seq_cst", buffered, {{w(x, 1, sc), r(y, sc)}, store_y_sc}),
      test("SB+light+heavy", "the fence of the thread cache", buffered,
           {store_x_light, store_y_heavy}),
      test("SB+sc+rlx", "stores seq_cst, loads relaxed", old,
           {{w(x, 1, sc), r(y, rlx)}, {w(y, 1, sc), r(x, rlx)}}),
      test("SB+light+light", "a light fence alone", old,
           {store_x_light, {w(y, 1, rlx), light, r(x, rlx)}}),
      test("SB+none+heavy", "a heavy fence alone", old, {store_x, store_y_heavy}),
      test("SB+full+full", "the fence of waiters", buffered,
           {store_x_full, {w(y, 1, rlx), full, r(x, rlx)}}),
      test("SB+full+none", "a full fence alone", old, {store_x_full, {w(y, 1, rlx), r(x, rlx)}}),
      test("SB+rlx+sc", "stores relaxed, loads seq_cst", old,
           {{w(x, 1, rlx), r(y, sc)}, {w(y, 1, rlx), r(x, sc)}}),
      test("SB+full+sc", "a full fence; all seq_cst", buffered, {store_x_full, store_y_sc}),
      test("SB+full+st", "a full fence; only the store seq_cst", old,
           {store_x_full, {w(y, 1, sc), r(x, rlx)}}),
      test("SB+full+ld", "a full fence; only the load seq_cst", old,
           {store_x_full, {w(y, 1, rlx), r(x, sc)}}),
      test("SB+cas+sc", "loads by CASs that fail, seq_cst", buffered,
           {{w(x, 1, sc), cas(y, 7, 8, sc, sc)}, {w(y, 1, sc), cas(x, 7, 8, sc, sc)}}),
      test("SB+cas+rlx", "loads by CASs that fail, relaxed", old,
           {{w(x, 1, sc), cas(y, 7, 8, sc, rlx)}, {w(y, 1, sc), cas(x, 7, 8, sc, rlx)}}),
      // A thread that has announced itself by a relaxed change reads it back before it looks.
      test("SB+back+sc", "a relaxed change, read back seq_cst", buffered,
           {{add(x, rlx), quiet(r(x, sc)), r(y, sc)}, store_y_sc}),
      test("SB+back+rlx", "a relaxed change, read back relaxed", old,
           {{add(x, rlx), quiet(r(x, rlx)), r(y, sc)}, store_y_sc}),
  };
}

tests message_passing() {
  const auto either = any_of_four;
  const auto ordered = "0 0, 0 1, !1 0, 1 1";
  const auto stronger = "0 0, 0 1, +1 0, 1 1";
  const thread send{w(x, 1, rlx), w(y, 1, rel)};
  const thread send_relaxed{w(x, 1, rlx), w(y, 1, rlx)};
  const thread send_full{w(x, 1, rlx), full, w(y, 1, rlx)};
  const thread receive{r(y, acq), r(x, rlx)};
  const thread receive_relaxed{r(y, rlx), r(x, rlx)};
  const thread receive_full{r(y, rlx), full, r(x, rlx)};
  return {
      test("MP", "flag release and acquire", ordered, {send, receive}),
      test("MP+rlx", "flag relaxed", either, {send_relaxed, receive_relaxed}),
      test("MP+rel+rlx", "flag release, read relaxed", either, {send, receive_relaxed}),
      // The middle thread changes the flag without any ordering.
      test("MP+rmw", "a relaxed change between release and acquire",
           "0 0, 0 1, !1 0, 1 1, !2 0, 2 1", {send, {quiet(cas(y, 1, 2, rlx, rlx))}, receive}),
      // Since C++20 a plain store of the same thread ends the release sequence.
      test("MP+store", "a relaxed store of the same thread between",
           "0 0, 0 1, !1 0, 1 1, 2 0, 2 1", {{w(x, 1, rlx), w(y, 1, rel), w(y, 2, rlx)}, receive}),
      test("MP+cas+acq", "the flag read by a CAS that fails, acquire", ordered,
           {send, {cas(y, 7, 8, acq, acq), r(x, rlx)}}),
      test("MP+cas+rlx", "the flag read by a CAS that fails, relaxed", either,
           {send, {cas(y, 7, 8, acq, rlx), r(x, rlx)}}),
      test("MP+full+full", "full fences", ordered, {send_full, receive_full}),
      test("MP+full+none", "a full fence before the flag", either, {send_full, receive_relaxed}),
      test("MP+none+full", "a full fence after the flag", either, {send_relaxed, receive_full}),
      test("MP+full+acq", "a full fence, flag read acquire", stronger, {send_full, receive}),
      test("MP+rel+full", "flag release, a full fence", stronger, {send, receive_full}),
  };
}

tests independent_reads() {
  const auto split = "1 0 1 0, 1 1 1 1, 0 0 0 0";
  const auto agreed = "!1 0 1 0, 1 1 1 1, 0 0 0 0";
  const thread store_x{w(x, 1, rlx)};
  const thread store_y{w(y, 1, rlx)};
  const thread store_x_sc{w(x, 1, sc)};
  const thread store_y_sc{w(y, 1, sc)};
  const thread x_full_y{r(x, rlx), full, r(y, rlx)};
  const thread y_full_x{r(y, rlx), full, r(x, rlx)};
  const thread x_then_y{r(x, sc), r(y, sc)};
  const thread y_then_x{r(y, sc), r(x, sc)};
  const thread acquire_x_y{r(x, acq), r(y, acq)};
  const thread acquire_y_x{r(y, acq), r(x, acq)};
  return {
      test("IRIW", "release, acquire", split,
           {{w(x, 1, rel)}, {w(y, 1, rel)}, acquire_x_y, acquire_y_x}),
      test("IRIW+sc", "all seq_cst", agreed, {store_x_sc, store_y_sc, x_then_y, y_then_x}),
      test("IRIW+full+none", "one full fence", split,
           {store_x, store_y, x_full_y, {r(y, rlx), r(x, rlx)}}),
      test("IRIW+full", "all relaxed, full fences", agreed, {store_x, store_y, x_full_y, y_full_x}),
      test("IRIW+ld", "stores relaxed, loads seq_cst", agreed,
           {store_x, store_y, x_then_y, y_then_x}),
      test("IRIW+st", "stores seq_cst, loads acquire", split,
           {store_x_sc, store_y_sc, acquire_x_y, acquire_y_x}),
      test("IRIW+full+sc", "one reader fences, one is seq_cst", agreed,
           {store_x, store_y, x_full_y, y_then_x}),
      test("IRIW+full+acq", "one reader fences, one acquires", split,
           {store_x_sc, store_y_sc, x_full_y, acquire_y_x}),
  };
}

tests causality() {
  const auto unseen = "1 0 0, 0 0 0, 1 1 0, 1 0 1, 1 1 1";
  const auto seen = "!1 0 0, 0 0 0, 1 1 0, 1 0 1, 1 1 1";
  const thread store{w(x, 1, rlx)};
  const thread read_full{r(x, rlx), full, r(y, rlx)};
  const thread read_sc{r(x, sc), r(y, sc)};
  const thread write_full{w(y, 1, rlx), full, r(x, rlx)};
  const thread write_sc{w(y, 1, sc), r(x, sc)};
  return {
      test("WRC", "release, acquire", "0 0, 0 1, !1 0, 1 1",
           {{w(x, 1, rel)}, {quiet(r(x, acq)), copy(y, rel)}, {r(y, acq), r(x, rlx)}}),
      test("WRC+rlx", "read relaxed", any_of_four,
           {{w(x, 1, rel)}, {quiet(r(x, rlx)), copy(y, rel)}, {r(y, rlx), r(x, rlx)}}),
      test("RWC+full", "full fences", seen, {store, read_full, write_full}),
      test("RWC+sc", "all but the first store seq_cst", seen, {store, read_sc, write_sc}),
      test("RWC+full+sc", "the reader fences, the writer is seq_cst", seen,
           {store, read_full, write_sc}),
      test("RWC+acq+full", "the reader acquires, the writer fences", unseen,
           {store, {r(x, acq), r(y, acq)}, write_full}),
      // Since C++20 a release that a seq_cst change acquires does not bring what is before it into
      // the total order: Power does as much.
      test("Z6.U", "a seq_cst change acquires a release", "?1 3 0, 1 3 1, 1 2 1, 0 1 0, 3 4 0",
           {{w(x, 1, sc), w(y, 1, rel)}, {told(add(y, sc)), r(y, rlx)}, {w(y, 3, sc), r(x, sc)}}),
  };
}

// Two stores to one word: the thread whose store comes second sees what the first thread did
// before, or not.
tests store_then_read() {
  const auto unseen = "1 0, 1 1, 2 0, 2 1";
  const auto seen = "1 0, 1 1, !2 0, 2 1";
  const thread store{w(x, 1, rlx), w(y, 1, rlx)};
  const thread store_full{w(x, 1, rlx), full, w(y, 1, rlx)};
  const thread store_sc{w(x, 1, sc), w(y, 1, sc)};
  const thread read_full{w(y, 2, rlx), full, r(x, rlx)};
  const thread read_sc{w(y, 2, sc), r(x, sc)};
  return {
      test("R+full+none", "a full fence between the stores", unseen,
           {store_full, {w(y, 2, rlx), r(x, rlx)}}, {y}),
      test("R+none+full", "a full fence before the load", unseen, {store, read_full}, {y}),
      test("R+sc", "all seq_cst", seen, {store_sc, read_sc}, {y}),
      test("R+full", "full fences", seen, {store_full, read_full}, {y}),
      test("R+full+sc", "the writer fences, the reader is seq_cst", seen, {store_full, read_sc},
           {y}),
      test("R+sc+full", "the writer is seq_cst, the reader fences", seen, {store_sc, read_full},
           {y}),
      test("R+full+ld", "the writer fences, only the load is seq_cst", unseen,
           {store_full, {w(y, 2, rlx), r(x, sc)}}, {y}),
  };
}

tests stores_and_changes() {
  const auto not_both_first = "!1 1, 1 2, 2 1, 2 2";
  const step try_once = quiet(cas(x, 0, 1, rlx, rlx));
  return {
      test("LB", "loads before stores, relaxed", "0 0, 0 1, 1 0, ?1 1",
           {{r(x, rlx), w(y, 1, rlx)}, {r(y, rlx), w(x, 1, rlx)}}),
      test("CoRR", "two loads of one word", "!1 0, !2 0, !2 1, 0 2, 1 2",
           {{w(x, 1, rlx), w(x, 2, rlx)}, {r(x, rlx), r(x, rlx)}}),
      test("2+2W", "release", "1 1, 1 2, 2 1, 2 2",
           {{w(x, 1, rel), w(y, 2, rel)}, {w(y, 1, rel), w(x, 2, rel)}}, {x, y}),
      test("2+2W+sc", "all seq_cst", not_both_first,
           {{w(x, 1, sc), w(y, 2, sc)}, {w(y, 1, sc), w(x, 2, sc)}}, {x, y}),
      test("2+2W+full", "full fences", not_both_first,
           {{w(x, 1, rlx), full, w(y, 2, rlx)}, {w(y, 1, rlx), full, w(x, 2, rlx)}}, {x, y}),
      test("RMW", "two relaxed fetch_add", "!1, 2", {{add(x, rlx)}, {add(x, rlx)}}, {x}),
      test("CAS+weak", "one weak CAS alone", "1, 0", {{weak(try_once)}}, {x}),
      test("CAS+strong", "one strong CAS alone", "1, !0", {{try_once}}, {x}),
  };
}

}  // namespace

std::span<const litmus> memory_litmus() {
  static const tests list = [] {
    tests all;
    for (const tests& part : {store_buffering(), message_passing(), independent_reads(),
                              causality(), store_then_read(), stores_and_changes()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return list;
}

}  // namespace model
