/// @file
/// A pool with threads of its own, of which a thread of the model plays one, and with resources
/// that have to be validated before each use.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "lido/resource/resource_short_way.hpp"
#include "lido/resource/typed_hooks.hpp"
#include "scenarios/lending.hpp"
#include "scenarios/scenario.hpp"

namespace model {

/// What the factory is to do, and has done; the model runs one thread at a time.
struct inquiry {
  int created = 0;
  int destroyed = 0;
  int told = 0;      ///< callbacks that were served
  int most = 0;      ///< resources at once
  int refusals = 0;  ///< so many questions may be answered with no, or not
  bool creates_fail = false;
  std::function<void()> in_question;  ///< called in the middle of each
  std::function<void()> in_create;    ///< the same
  lido::detail::resource_core* core = nullptr;
  lido::detail::atomic<std::uint32_t> any_end{0};

  /// What the pool calls may call the pool: under its mutex it would wait for itself.
  void touch_pool() const noexcept {
    if (core != nullptr) {
      (void)core->use_of_room();
    }
  }
  void note_end() noexcept {
    ++destroyed;
    any_end.store(1, std::memory_order_release);
    lido::detail::unpark(&any_end);
  }
  void await_an_end() const noexcept {
    while (any_end.load(std::memory_order_acquire) == 0) {
      (void)lido::detail::park(any_end, 0, {});
    }
  }
};

struct asked_factory {
  inquiry* about;

  [[nodiscard]] resource create() const {
    about->touch_pool();
    if (about->creates_fail) {
      throw std::runtime_error("none is made");
    }
    if (about->in_create) {
      about->in_create();
    }
    ++about->created;
    require(about->created - about->destroyed <= about->most, "more resources than max_size");
    return {};
  }
  [[nodiscard]] bool validate(resource& idle) const {
    idle.uses.write(idle.uses.read());  // nobody else has it
    about->touch_pool();
    if (about->in_question) {
      about->in_question();
    }
    const bool refuses = about->refusals > 0 && execution::now().choose(question::event, 2) == 1;
    about->refusals -= refuses ? 1 : 0;
    return !refuses;
  }
  void destroy(resource& ended, lido::destroy_reason /*why*/) const noexcept {
    ended.uses.write(0);  // nobody else has it
    about->touch_pool();
    about->note_end();
  }
};

/// The pool, and what its users do. It is closed by the last of them, since its thread works until
/// then; what is lost lets that wait for ever.
class asked_pool {
 public:
  using grant = lido::detail::resource_grant;

  /// So many are there, and each has to be validated.
  asked_pool(std::size_t size, std::size_t made, std::size_t max_waiters);

  [[nodiscard]] lido::detail::resource_core& core() { return *core_; }
  [[nodiscard]] inquiry& about() { return about_; }

  /// Without a wait. Requires: one is idle.
  [[nodiscard]] grant take();
  void try_and_use();
  void use(const grant& got);
  /// As long as it takes: who has so much time asks for itself.
  [[nodiscard]] grant wait();
  void wait_and_use() { use(wait()); }
  /// Who has less time than an answer may take leaves it to the pool to ask.
  void wait_for_a_time();
  void close();
  /// Until so many wait.
  void rest_until_there_are(std::size_t waiters);

  /// Each user is a thread, and the pool has one beside them.
  template <class... Users>
  void run(const Users&... users) {
    users_ = sizeof...(Users);
    in_threads(
        [this, &users] {
          users();
          leave();
        }...,
        [this] { work(); });
    check();
  }

  /// The pool has three threads.
  template <class User>
  void run_with_three(const User& user) {
    users_ = 1;
    in_threads(
        [this, &user] {
          user();
          leave();
        },
        [this] { work(); }, [this] { work(); }, [this] { work(); });
    check();
  }
  /// The pool has two threads.
  template <class User>
  void run_with_two(const User& user) {
    users_ = 1;
    in_threads(
        [this, &user] {
          user();
          leave();
        },
        [this] { work(); }, [this] { work(); });
    check();
  }

 private:
  void work();
  void leave();
  void check();

  inquiry about_;
  std::shared_ptr<lido::detail::resource_core> core_;
  std::size_t users_ = 0;
};

/// A callback, and what it was told. It leaves questions to the pool, whatever time it has.
class caller {
 public:
  static constexpr int any_turn = -1;
  /// `turn`: how many must have been served before it is.
  explicit caller(asked_pool& pool, int turn = any_turn) : pool_(pool), turn_(turn) {}

  void ask(const std::stop_token& stop = {}, lido::detail::deadline until = {});
  /// Until it has been told.
  void await();
  [[nodiscard]] bool has_got() const { return got_.slot != nullptr; }
  /// Of who has to be served.
  void await_and_use();
  /// Of who may be told something else.
  void await_the_end();

 private:
  void be_told(const asked_pool::grant& got, const std::exception_ptr& error);

  asked_pool& pool_;
  int turn_;
  lido::detail::atomic<std::uint32_t> told_{0};
  asked_pool::grant got_;
};

/// As `with_pool`: what has failed is left as it is.
template <class Scene>
void with_questions(std::size_t size, std::size_t made, const Scene& scene,
                    std::size_t max_waiters = SIZE_MAX) {
  auto pool = std::make_unique<asked_pool>(size, made, max_waiters);
  asked_pool* const kept = pool.release();
  scene(*kept);
  pool.reset(kept);
}

}  // namespace model
