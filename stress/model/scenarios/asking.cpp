/// Resources that the pool asks whether they still work, for callbacks that wait for the answer.
/// Whose question was forgotten waits for ever: nothing else happens at the end but ticks.
#include <array>
#include <utility>

#include "scenarios/lending.hpp"

namespace model {

namespace {

template <class Scene>
void with_questions(std::size_t size, const Scene& scene) {
  with_pool(size, scene, {}, asks::always);
}

/// A callback, and what it was told.
struct caller {
  int calls = 0;
  lending::lease got;

  void ask(lending& pool) {
    pool.pool().async_acquire([this](lending::lease lease, const std::exception_ptr& error) {
      ++calls;
      require(static_cast<bool>(lease) != static_cast<bool>(error),
              "a callback was told two things, or nothing");
      got = std::move(lease);
    });
  }
  /// For one that has to be served, at the latest by some more ticks.
  void check_served(lending& pool) {
    for (int i = 0; calls == 0 && i < 3; ++i) {
      pool.pool().tick();
    }
    require(calls == 1 && got, "a callback was forgotten, told twice, or refused");
    lending::use(std::move(got));
  }
};

// Each keeps what it gets: what one has left unasked for another is asked when that is served.
void two_callbacks() {
  with_questions(2, [](lending& pool) {
    std::array<caller, 2> both;
    in_threads([&] { both[0].ask(pool); }, [&] { pool.pool().tick(); }, [&] { both[1].ask(pool); });
    for (int i = 0; i < 3; ++i) {
      pool.pool().tick();
    }
    for (caller& one : both) {
      require(one.calls == 1 && one.got, "a callback was forgotten, told twice, or refused");
    }
    for (caller& one : both) {
      lending::use(std::move(one.got));
    }
    pool.check(2);
  });
}

// Who has the time to ask, beside one who leaves it to the pool.
void callback_against_use() {
  with_questions(1, [](lending& pool) {
    caller one;
    in_threads([&] { one.ask(pool); }, [&] { pool.pool().tick(); },
               [&] { (void)pool.try_and_use(); });
    one.check_served(pool);
    pool.check(1);
  });
}

void callback_against_release() {
  with_questions(1, [](lending& pool) {
    lending::lease held = pool.take();
    caller one;
    in_threads([&] { lending::use(std::move(held)); }, [&] { one.ask(pool); },
               [&] { pool.pool().tick(); });
    one.check_served(pool);
    pool.check(1);
  });
}

// The other one is asked when the first says no.
void one_says_no() {
  with_questions(2, [](lending& pool) {
    caller one;
    pool.count().refusals = 1;
    in_threads([&] { one.ask(pool); }, [&] { pool.pool().tick(); }, [&] { pool.pool().tick(); });
    one.check_served(pool);
    require(pool.count().destroyed == 1, "what says no was not ended, or more than that");
    require(pool.count().created == 2, "another one was made though one could be asked");
    pool.check(1);
  });
}

// A question that nobody asks any more keeps no resource.
void close_against_question() {
  with_questions(1, [](lending& pool) {
    caller one;
    in_threads([&] { one.ask(pool); }, [&] { pool.pool().tick(); },
               [&] { (void)pool.pool().close(std::chrono::nanoseconds(0)); });
    require(one.calls == 1, "a callback was told nothing, or twice");
    if (one.got) {
      lending::use(std::move(one.got));
    }
    pool.check(0);
  });
}

constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 0};

constexpr scenario is_asked(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow, /*waits=*/true};
}

constexpr std::array scenarios{
    is_asked("asking.two_callbacks", "two leave their questions to the pool", &two_callbacks),
    is_asked("asking.callback_against_use", "another asks for itself", &callback_against_use),
    is_asked("asking.callback_against_release", "what comes back has to be asked",
             &callback_against_release),
    is_asked("asking.one_says_no", "the next one is asked", &one_says_no),
    is_asked("asking.close_against_question", "a pool closes as one is asked",
             &close_against_question),
};

}  // namespace

std::span<const scenario> asking_scenarios() {
  return scenarios;
}

}  // namespace model
