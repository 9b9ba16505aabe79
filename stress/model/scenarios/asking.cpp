/// Resources that the pool asks whether they still work, for those who have less time than an
/// answer may take. Whoever waits is served or told whatever becomes of the question, in its turn,
/// and nothing is lost: the last user closes the pool and waits for all that is left of it.
#include <array>
#include <stop_token>
#include <utility>

#include "scenarios/asked_pool.hpp"

namespace model {

namespace {

using lido::detail::deadline;

// What comes back has to be asked before who leaves that to the pool gets it.
void hasty_against_release() {
  with_questions(1, 1, [](asked_pool& pool) {
    const asked_pool::grant held = pool.take();
    caller hasty(pool);
    pool.run([&] { pool.use(held); },
             [&] {
               hasty.ask();
               hasty.await_and_use();
             });
  });
}

// One asks for itself, perhaps in vain.
void hasty_against_use() {
  with_questions(1, 1, [](asked_pool& pool) {
    caller hasty(pool);
    pool.run([&] { pool.try_and_use(); },
             [&] {
               hasty.ask();
               hasty.await_and_use();
             });
  });
}

// What was asked for one goes to the other, who would have asked for itself.
void hasty_and_patient() {
  with_questions(1, 1, [](asked_pool& pool) {
    caller hasty(pool);
    pool.run([&] { pool.wait_and_use(); },
             [&] {
               hasty.ask();
               hasty.await_and_use();
             });
  });
}

// The time of one is over while its question is under way, or as the answer comes.
void late_before_patient() {
  with_questions(1, 1, [](asked_pool& pool) {
    pool.run([&] { pool.wait_for_a_time(); }, [&] { pool.wait_and_use(); });
  });
}

// Who came first is first when the answer comes, and each use needs one.
void answered_in_turn() {
  with_questions(1, 1, [](asked_pool& pool) {
    const asked_pool::grant held = pool.take();
    caller first(pool, 0);
    caller second(pool, 1);
    first.ask();
    second.ask();
    pool.run([&] { pool.use(held); }, [&] { first.await_and_use(); },
             [&] { second.await_and_use(); });
  });
}

// Nobody may wait, but for what only has to be asked: that is there, or another has it.
void asked_though_nobody_may_wait() {
  with_questions(
      1, 1,
      [](asked_pool& pool) {
        caller hasty(pool);
        bool begun = false;
        bool over = false;
        pool.run(
            [&] {
              begun = true;
              pool.try_and_use();
              over = true;
            },
            [&] {
              const bool was_over = over;
              hasty.ask();
              const bool met = begun && !was_over;
              hasty.await_the_end();
              require(hasty.has_got() || met, "a callback was refused what nobody had");
            });
      },
      0);
}

// Two are asked for one who waits, and both are there for two.
void two_for_two() {
  with_questions(2, 2, [](asked_pool& pool) {
    caller one(pool);
    caller other(pool);
    pool.run(
        [&] {
          one.ask();
          one.await();
          other.await();
          one.await_and_use();
        },
        [&] {
          other.ask();
          one.await();
          other.await_and_use();
        });
  });
}

// What says no is ended, and another one made in its place, but never one too many.
void says_no() {
  with_questions(1, 1, [](asked_pool& pool) {
    pool.about().refusals = 1;
    caller hasty(pool);
    pool.run([&] { pool.wait_for_a_time(); },
             [&] {
               hasty.ask();
               hasty.await_and_use();
             });
  });
}

// No room is made while none can be: what was asked once is asked again.
void asked_again_without_creates() {
  with_questions(2, 1, [](asked_pool& pool) {
    pool.about().creates_fail = true;
    caller first(pool);
    caller second(pool);
    pool.run([&] {
      first.ask();
      first.await_and_use();
      second.ask();
      second.await_and_use();
    });
  });
}

// The same beside one that is not made before both are served, while there is room for a third.
void asked_again_beside_slow_create() {
  with_questions(3, 1, [](asked_pool& pool) {
    caller first(pool);
    caller second(pool);
    pool.about().in_create = [&] { second.await(); };
    pool.run_with_two([&] {
      first.ask();
      first.await_and_use();
      second.ask();
      second.await_and_use();
    });
  });
}

// One does not answer before somebody is served, who gets the other, or one that is made meanwhile.
void slow_question(std::size_t size, std::size_t made) {
  with_questions(size, made, [](asked_pool& pool) {
    caller hasty(pool);
    bool first = true;
    pool.about().in_question = [&] {
      if (std::exchange(first, false)) {
        hasty.await();
      }
    };
    pool.run_with_two([&] {
      hasty.ask();
      hasty.await_and_use();
    });
  });
}

void slow_question_beside_other() {
  slow_question(2, 2);
}

void slow_question_beside_create() {
  slow_question(2, 1);
}

// None of those that are there answers before somebody is served, for whom one can be made.
void slow_questions_beside_create() {
  with_questions(4, 3, [](asked_pool& pool) {
    caller hasty(pool);
    pool.about().in_question = [&] { hasty.await(); };
    pool.run_with_three([&] {
      hasty.ask();
      hasty.await_and_use();
    });
  });
}

// One does not answer, and none can be made for a while: the other is asked.
void slow_question_without_creates() {
  with_questions(3, 2, [](asked_pool& pool) {
    pool.about().creates_fail = true;
    bool first = true;
    caller hasty(pool);
    pool.about().in_question = [&] {
      if (std::exchange(first, false)) {
        hasty.await();
      }
    };
    pool.run_with_two([&] {
      hasty.ask();
      hasty.await_and_use();
    });
  });
}

// Whoever waits for an answer is told, and what is under question ends.
void close_against_question() {
  with_questions(1, 1, [](asked_pool& pool) {
    pool.about().refusals = 1;
    caller hasty(pool);
    pool.run([&] { pool.close(); },
             [&] {
               hasty.ask();
               hasty.await_the_end();
             });
  });
}

// The pool does not wait for answers to questions that nobody has asked yet: of two, one is asked
// for as long as the other lives.
void close_beside_slow_question() {
  with_questions(2, 2, [](asked_pool& pool) {
    pool.about().in_question = [&] { pool.about().await_an_end(); };
    caller hasty(pool);
    pool.run([&] { pool.close(); },
             [&] {
               hasty.ask();
               hasty.await_the_end();
             });
  });
}

// What is under question is one too many, or not any more.
void resize_against_question() {
  with_questions(1, 1, [](asked_pool& pool) {
    caller hasty(pool);
    pool.run(
        [&] {
          pool.core().resize(0, 0);
          pool.core().resize(1, 0);
        },
        [&] {
          hasty.ask();
          hasty.await_and_use();
        });
  });
}

// Nobody waits for the answer any more, or who comes next. The thread of the pool stops the wait:
// std::stop_token is none of the model, so nobody else may end it meanwhile.
void stopped_in_question() {
  with_questions(1, 1, [](asked_pool& pool) {
    constexpr thread_id of_the_pool = 3;
    std::stop_source stop;
    pool.about().in_question = [&] {
      if (execution::now().self() == of_the_pool) {
        (void)stop.request_stop();
      }
    };
    caller stopped(pool);
    pool.run([&] { pool.wait_and_use(); },
             [&] {
               stopped.ask(stop.get_token());
               stopped.await_the_end();
             });
  });
}

// The same of a callback whose time is over.
void late_in_question() {
  with_questions(1, 1, [](asked_pool& pool) {
    pool.about().in_question = [&] { pool.core().tick(); };
    caller late(pool);
    late.ask({}, deadline::after(some_time));
    pool.run([&] { pool.wait_and_use(); },
             [&] {
               pool.core().tick();
               late.await_the_end();
             });
  });
}

constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 0};

constexpr scenario is_asked(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow, /*waits=*/true};
}

constexpr std::array scenarios{
    is_asked("asking.hasty_against_release", "what comes back has to be asked",
             &hasty_against_release),
    is_asked("asking.hasty_against_use", "another asks for itself", &hasty_against_use),
    is_asked("asking.hasty_and_patient", "one leaves it to the pool, one does not",
             &hasty_and_patient),
    is_asked("asking.late_before_patient", "a time is over before the answer comes",
             &late_before_patient),
    is_asked("asking.answered_in_turn", "the order of those who wait for answers",
             &answered_in_turn),
    is_asked("asking.asked_though_nobody_may_wait", "who waits for no more than an answer",
             &asked_though_nobody_may_wait),
    is_asked("asking.two_for_two", "two are asked, and two wait", &two_for_two),
    is_asked("asking.says_no", "another is made in its place", &says_no),
    is_asked("asking.asked_again_without_creates", "one question after another, and no creates",
             &asked_again_without_creates),
    is_asked("asking.slow_question_beside_other", "one that does not answer holds up nobody",
             &slow_question_beside_other),
    is_asked("asking.slow_question_beside_create", "nor does it where another can be made",
             &slow_question_beside_create),
    is_asked("asking.slow_questions_beside_create", "questions leave a thread that makes one",
             &slow_questions_beside_create),
    is_asked("asking.slow_question_without_creates", "also while none can be made",
             &slow_question_without_creates),
    is_asked("asking.asked_again_beside_slow_create", "and one create that takes long",
             &asked_again_beside_slow_create),
    is_asked("asking.close_against_question", "a pool closes as one is asked",
             &close_against_question),
    is_asked("asking.close_beside_slow_question", "it ends what nobody has asked yet",
             &close_beside_slow_question),
    is_asked("asking.resize_against_question", "smaller and larger as one is asked",
             &resize_against_question),
    is_asked("asking.stopped_in_question", "who waits for the answer is stopped",
             &stopped_in_question),
    is_asked("asking.late_in_question", "the time of a callback is over", &late_in_question),
};

}  // namespace

std::span<const scenario> asking_scenarios() {
  return scenarios;
}

}  // namespace model
