/// @file
/// Public. Acquires from object pools that wait without blocking a thread.
#pragma once

#include <coroutine>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lido/allocator/slot_allocator.hpp"
#include "lido/allocator/slot_wait.hpp"
#include "lido/base/callback.hpp"
#include "lido/base/durations.hpp"
#include "lido/base/fail.hpp"
#include "lido/concurrency/coroutine_wait.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/object/object_pool.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

template <class Pool, class... Args>
class slot_awaiter;

/// The acquires of a pool that block no thread.
template <class Pool>
struct async_waits {
  using code_address = typename Pool::code_address;
  using lease_type = typename Pool::lease_type;

  [[nodiscard]] static void* take_slot(Pool& pool, code_address at) noexcept {
    return pool.take_slot(at);
  }

  /// Constructs the object in `slot`, or returns an empty lease if `slot` is null.
  template <class... Args>
  [[nodiscard]] static lease_type make_from(Pool& pool, code_address at, void* slot,
                                            std::tuple<Args...>&& stored) {
    return std::apply(
        [&](auto&&... args) {
          return pool.lease_in(at, slot, std::forward<decltype(args)>(args)...);
        },
        std::move(stored));
  }

  /// Calls `begin(slot_wait, args...)`, where `args` are without the limits at their front.
  template <class Begin, class Rep, class Period, class... Args>
  static auto begin_within(const Begin& begin, std::chrono::duration<Rep, Period> wait,
                           Args&&... args) {
    return begin_unless_stopped(begin, deadline::after(wait), std::forward<Args>(args)...);
  }
  template <class Begin, class... Args>
  static auto begin_within(const Begin& begin, Args&&... args) {
    return begin_unless_stopped(begin, deadline(), std::forward<Args>(args)...);
  }
  template <class Begin, class... Args>
  static auto begin_unless_stopped(const Begin& begin, deadline until, std::stop_token stop,
                                   Args&&... args) {
    static_assert(
        !Pool::template takes_or_waits<Args...>,
        "lido: T, or the activate hook, takes a std::stop_token, and can do without: give "
        "it an overload that takes its own first argument, such as a tag");
    return begin(slot_wait{until, std::move(stop)}, std::forward<Args>(args)...);
  }
  template <class Begin, class... Args>
  static auto begin_unless_stopped(const Begin& begin, deadline until, Args&&... args) {
    return begin(slot_wait{until, std::stop_token()}, std::forward<Args>(args)...);
  }

  /// See `async_forms::co_acquire`.
  template <class... Args>
  [[nodiscard]] static auto co_acquire(Pool& pool, code_address at, Args&&... args) {
    return begin_within(
        [&]<class... Stored>(slot_wait wait, Stored&&... stored) {
          return slot_awaiter<Pool, Stored...>(pool, at, std::move(wait),
                                               std::forward<Stored>(stored)...);
        },
        std::forward<Args>(args)...);
  }

  /// See `async_forms::async_acquire`.
  template <class Done, class... Args>
  static void async_acquire(Pool& pool, code_address at, Done done, Args&&... args) {
    static_assert(std::is_invocable_v<Done&, lease_type>,
                  "lido: the callback of async_acquire is called with a lease");
    if constexpr (may_be_nothing<Done>) {
      refuse_option_if(done == nullptr, pool.name(), {"the callback is a function that is null"});
    }
    begin_within(
        [&]<class... Stored>(const slot_wait& wait, Stored&&... stored) {
          begin_callback(pool, at, wait, std::move(done),
                         std::tuple<std::decay_t<Stored>...>(std::forward<Stored>(stored)...));
        },
        std::forward<Args>(args)...);
  }
  template <class Done, class... Stored>
  static void begin_callback(Pool& pool, code_address at, const slot_wait& wait, Done done,
                             std::tuple<Stored...> stored) {
    if (lease_type made = make_at_once(pool, at, stored)) {
      done(std::move(made));
    } else {
      wait_with_callback(pool, at, wait, std::move(done), std::move(stored));
    }
  }

  /// Constructs the object from `stored` if the pool has an empty slot. Otherwise returns an empty
  /// lease, and leaves `stored` as it is.
  template <class... Stored>
  [[nodiscard]] static lease_type make_at_once(Pool& pool, code_address at,
                                               std::tuple<Stored...>& stored) {
    static_assert(Pool::life::template makes_nothrow<Stored...>,
                  "lido: async_acquire constructs the object where no exception can be handled, so "
                  "the constructor must be noexcept; co_acquire has no such limit");
    void* const slot = take_slot(pool, at);
    return slot == nullptr ? lease_type() : make_from(pool, at, slot, std::move(stored));
  }

  /// Waits for a slot, unless the wait has ended already. Called after `make_at_once` has found no
  /// slot.
  template <class Done, class... Stored>
  static void wait_with_callback(Pool& pool, code_address at, const slot_wait& wait, Done done,
                                 std::tuple<Stored...> stored) {
    if (wait.until.passed() || wait.stop.stop_requested()) {
      done(make_from(pool, at, nullptr, std::move(stored)));
      return;
    }
    wait_for_slot(pool, wait,
                  completion<slot_outcome>([&pool, at, call = std::move(done),
                                            last = std::move(stored)](slot_outcome found) mutable {
                    call(make_from(pool, at, found.slot, std::move(last)));
                  }));
  }

  static void wait_for_slot(Pool& pool, const slot_wait& wait, completion<slot_outcome> done) {
    pool.slots_.allocator().wait_async(wait, std::move(done));
  }
};

/// The awaiter of an acquire. `co_await` on it returns a lease, which is empty if the wait ended
/// without a slot. Throws whatever T's constructor throws, or std::bad_alloc before the wait
/// begins.
///
/// The coroutine resumes in the thread that ends the wait, and constructs the object there. If the
/// wait ends before the coroutine is suspended, the coroutine continues in its own thread. The
/// coroutine may be destroyed while it waits, but only if no other thread can end the wait at that
/// moment; otherwise, end the wait by a stop token. If the coroutine is destroyed, the slot meant
/// for it goes back to the pool.
template <class Pool, class... Args>
class slot_awaiter {
  using waits = async_waits<Pool>;

 public:
  slot_awaiter(Pool& pool, typename waits::code_address at, slot_wait wait, Args&&... args)
      : pool_(pool), at_(at), wait_(std::move(wait)), args_(std::forward<Args>(args)...) {}
  slot_awaiter(const slot_awaiter&) = delete;
  slot_awaiter& operator=(const slot_awaiter&) = delete;
  ~slot_awaiter() = default;

  [[nodiscard]] bool await_ready() noexcept {
    outcome_.slot = waits::take_slot(pool_, at_);
    return outcome_.slot != nullptr || wait_.until.passed() || wait_.stop.stop_requested();
  }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> coroutine) {
    return line_.begin(
        wait_.stop, outcome_, coroutine,
        [this](completion<slot_outcome> done, std::stop_token stop) {
          waits::wait_for_slot(pool_, {wait_.until, std::move(stop)}, std::move(done));
        });
  }
  [[nodiscard]] typename Pool::lease_type await_resume() {
    return waits::make_from(pool_, at_, outcome_.slot, std::move(args_));
  }

 private:
  Pool& pool_;
  [[LIDO_NO_UNIQUE_ADDRESS]] typename waits::code_address at_;
  slot_wait wait_;
  slot_outcome outcome_;
  std::tuple<Args...> args_;
  coroutine_wait<slot_outcome> line_;
};

}  // namespace lido::inline v0::detail
