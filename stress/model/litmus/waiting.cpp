/// Tests whether the checker sees races, dead atomics, deadlocks and lost wake-ups.
#include <optional>

#include "checker/plain.hpp"
#include "checker/sync.hpp"
#include "lido/concurrency/atomic.hpp"
#include "litmus/litmus.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using enum std::memory_order;
using word = lido::detail::atomic<int>;

template <std::memory_order Store, std::memory_order Load>
void plain_data() {
  plain<int> data(0);
  word flag(0);
  in_threads(
      [&] {
        data.write(1);
        flag.store(1, Store);
      },
      [&] {
        if (flag.load(Load) == 1) {
          (void)data.read();
        }
      });
  record("held");
}

void plain_behind_mutex() {
  plain<int> data(0);
  mutex lock;
  const auto body = [&] {
    lock.lock();
    data.write(data.read() + 1);
    lock.unlock();
  };
  in_threads(body, body);
  record("held");
}

void dead_atomic() {
  std::optional<word> shared;
  shared.emplace(0);
  in_threads([&] { shared->store(1, relaxed); }, [&] { shared.reset(); });
  record("held");
}

void two_locks() {
  mutex a;
  mutex b;
  in_threads(
      [&] {
        a.lock();
        b.lock();
        b.unlock();
        a.unlock();
      },
      [&] {
        b.lock();
        a.lock();
        a.unlock();
        b.unlock();
      });
  record("held");
}

// A counter of waiters beside a free slot: the releasing thread checks for waiters, and a waiter
// checks the slot again.
template <std::memory_order Change, std::memory_order Look>
void waiter_counter() {
  word slots(0);
  word waiters(0);
  parking_place place;
  in_threads(
      [&] {
        slots.fetch_add(1, Change);
        if (waiters.load(Look) != 0) {
          place.unpark();
        }
      },
      [&] {
        waiters.fetch_add(1, Change);
        if (slots.load(Look) == 0) {
          place.park();
        }
      });
  record("held");
}

// A hand-over and a time-out at the same instant: both must be seen.
void time_out() {
  word state(0);  // 0 waiting, 1 given, 2 given up
  parking_place place;
  bool woken = false;
  in_threads(
      [&] {
        int waiting = 0;
        if (state.compare_exchange_strong(waiting, 1, acq_rel, relaxed)) {
          place.unpark();
        }
      },
      [&] {
        woken = place.park_for();
        if (!woken) {
          int waiting = 0;
          (void)state.compare_exchange_strong(waiting, 2, acq_rel, relaxed);
        }
      });
  const bool given = state.load(relaxed) == 1;
  record(woken ? "woken" : (given ? "given, but timed out" : "timed out"));
}

void spinning() {
  word shared(0);
  in_threads([&] {
    while (shared.load(relaxed) == 0) {
    }
  });
  record("held");
}

constexpr auto yes = expectation::allowed;
constexpr auto no = expectation::forbidden;

constexpr std::string_view race =
    "a data race: a variable is read while another thread may be writing it";
constexpr std::string_view dead = "an atomic is used that has been destroyed";
constexpr std::string_view stuck =
    "every thread that is left waits for another: deadlock, or a wake-up was lost";

std::vector<litmus> make_list() {
  return {
      {"race",
       "plain data, flag release and acquire",
       &plain_data<release, acquire>,
       {{"held", yes}, {race, no}}},
      {"race+rlx",
       "plain data, flag relaxed",
       &plain_data<relaxed, relaxed>,
       {{"held", yes}, {race, yes}}},
      {"mutex", "plain data behind a mutex", &plain_behind_mutex, {{"held", yes}}},
      {"dead", "an atomic destroyed beside its use", &dead_atomic, {{"held", yes}, {dead, yes}}},
      {"deadlock", "two mutexes in two orders", &two_locks, {{"held", yes}, {stuck, yes}}},
      {"wake-up+sc",
       "a counter of waiters, all seq_cst",
       &waiter_counter<seq_cst, seq_cst>,
       {{"held", yes}, {stuck, no}}},
      {"wake-up",
       "the same, acq_rel and acquire",
       &waiter_counter<acq_rel, acquire>,
       {{"held", yes}, {stuck, yes}}},
      {"time-out",
       "a hand-over beside a time-out",
       &time_out,
       {{"woken", yes}, {"timed out", yes}, {"given, but timed out", yes}}},
      {"spin", "a loop without end", &spinning, {{"no end after 40000 steps", yes}}},
  };
}

}  // namespace

std::span<const litmus> waiting_litmus() {
  static const std::vector<litmus> list = make_list();
  return list;
}

}  // namespace model
