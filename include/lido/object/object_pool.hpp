/// @file
/// Public. `object_pool<T>`: objects at stable addresses, for any number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lido/base/address.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/durations.hpp"
#include "lido/base/error.hpp"
#include "lido/base/exceptions_agree.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/base/tuning.hpp"
#include "lido/debug/no_checks.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/object/construction.hpp"
#include "lido/object/kept_objects.hpp"
#include "lido/object/lease.hpp"
#include "lido/object/options.hpp"
#include "lido/object/pool_slots.hpp"
#include "lido/object/traits.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

/// Provides objects that never move, in slots of a lock-free free list with per-thread caches.
///
/// An acquire constructs an object and a release destroys it, unless the pool keeps objects for
/// later acquires; see `pool_traits`. If a constructor throws, its slot is free again. `capacity()`
/// objects can be in use at the same time, no matter how many free slots are in the caches of other
/// threads.
///
/// All functions are thread-safe unless their comments say otherwise. An acquire or release that
/// hits the thread's cache is wait-free. It needs no fence and, except in locked caches, no
/// read-modify-write.
///
/// Other acquires and releases are lock-free, with one exception. If an acquire finds no slot while
/// another thread is suspended in the middle of moving slots, the acquire waits for that thread. It
/// waits for up to a tenth of a second, or for up to a second if other threads keep moving slots.
///
/// With `when_full::grow`, an acquire that needs more slots asks the system for memory. If another
/// thread is already adding slots, the acquire waits for that thread instead, for up to three
/// tenths of a second without progress.
///
/// A pool cannot be moved. Requires on destruction: no object is in use, and no other thread is in
/// a call. Threads that used the pool may end before or after its destruction.
///
/// Not async-signal-safe. The child process of a fork may use the pool, destroy it, and create
/// others. In the child, all slots that were free are still free, except for those that another
/// thread was moving during the fork. Objects that other threads had acquired stay in use.
template <class T, class Traits>
class object_pool : private detail::complete_traits<Traits> {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && std::is_same_v<T, std::decay_t<T>>,
                "lido: a pool holds objects: no references, arrays, const or volatile types");
  // T may be incomplete here: code that needs its definition is in functions.
  static_assert(detail::has_checks<Traits, T>,
                "lido: Traits::checked needs #include \"lido/checked.hpp\"");

  using checks = typename detail::pool_checks<Traits, T>::type;
  using code_address = typename checks::code_address;
  static constexpr bool keeps = !std::is_same_v<typename Traits::hooks, no_hooks>;
  using life = std::conditional_t<keeps, detail::kept_objects<T, typename Traits::hooks, checks>,
                                  detail::constructed_each_time<T>>;
  // With AddressSanitizer, the pool tracks which slots are in use, and a wrong release ends the
  // program. A checked pool needs no such tracking, because its records contain the same
  // information.
  static constexpr bool refuses = LIDO_POISON_FREE_SLOTS != 0 && !checks::active;
  static constexpr bool tracks = refuses || (Traits::track_in_use && !checks::active);

 public:
  using value_type = T;
  using lease_type = lease<T, Traits>;
  using hooks_type = typename Traits::hooks;

  /// Makes a pool of `capacity` slots. Throws std::invalid_argument if `capacity` is 0 or more than
  /// 2^32 - 2. Also throws std::bad_array_new_length or std::bad_alloc. May block
  /// briefly if another thread is exiting at that moment.
  [[LIDO_ASSERTS]] explicit object_pool(std::size_t capacity)
      : object_pool(object_pool_options{.capacity = capacity}) {}

  /// Makes a pool with `options`. `hooks` must be passed if its type has no default constructor.
  /// Throws the same exceptions as the constructor above, and growth_failed. Also throws
  /// std::invalid_argument if options contradict each other. With `creation::eager`, also throws
  /// whatever the hooks throw.
  [[LIDO_ASSERTS]] explicit object_pool(const object_pool_options& options,
                                        hooks_type hooks = hooks_type())
      : slots_(options, layout()),
        checks_(slots_.name(), slots_.memory().first(), slots_.max_capacity(),
                slots_.memory().records()),
        life_(std::move(hooks), checks_) {
    detail::scope_exit undo([this] { end(); });
    slots_.begin(options, life_.keeper());
    undo.dismiss();
  }

  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;
  [[LIDO_ASSERTS]] ~object_pool() { end(); }

  /// Acquires an object made from `args`. Without arguments it is value-initialised; with
  /// `default_init` it is default-initialised. If the pool is exhausted, `when_full` decides
  /// whether this throws pool_exhausted, waits, or adds slots. Adding slots throws growth_failed if
  /// there is no memory. Also throws whatever T's constructor throws.
  template <class... Args>
  [[nodiscard, LIDO_FAST_PATH]] lease_type acquire(Args&&... args) {
    return acquire_at(code_address::here(), std::forward<Args>(args)...);
  }

  /// Acquires as `acquire` does, but returns an empty lease if the pool is exhausted. Does not wait
  /// for a release; for other waits, see the comment of the class.
  template <class... Args>
  [[nodiscard, LIDO_FAST_PATH]] lease_type try_acquire(Args&&... args) {
    return try_acquire_at(code_address::here(), std::forward<Args>(args)...);
  }

  /// Acquires as `try_acquire` does, but returns a pointer, which the caller must release. Returns
  /// nullptr if the pool is exhausted.
  template <class... Args>
  [[nodiscard, LIDO_FAST_PATH]] T* try_acquire_ptr(Args&&... args) noexcept(
      life::template makes_nothrow<Args...>) {
    const code_address at = code_address::here();
    void* const slot = take_slot(at);
    if (slot == nullptr) [[unlikely]] {
      return nullptr;
    }
    return construct(at, slot, std::forward<Args>(args)...);
  }

  /// Acquires as `acquire` does, but waits for a free slot for at most `wait`, whatever `when_full`
  /// is. Returns an empty lease if the time passes first. A `wait` of zero or less means no wait;
  /// more than a century means no limit. Waiters are served in FIFO order.
  template <class Rep, class Period, class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire_for(std::chrono::duration<Rep, Period> wait,
                                                           Args&&... args) {
    return acquire_within(code_address::here(), detail::deadline::after(wait),
                          std::forward<Args>(args)...);
  }

  /// Acquires as `acquire_for` does, but waits until `moment`. A clock that is not steady is read
  /// only once, at the start, so setting it during the wait has no effect.
  template <class Clock, class Duration, class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire_until(
      std::chrono::time_point<Clock, Duration> moment, Args&&... args) {
    return acquire_within(code_address::here(), detail::deadline::at(moment),
                          std::forward<Args>(args)...);
  }

  /// Acquires as `acquire_for` does, but waits until a stop is requested. If a stop was requested
  /// before the call, acquires an object only if a slot is free. Does not compile if T, or the
  /// activate hook, accepts `args` both with and without `stop` in front.
  template <class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire(detail::stop_token stop, Args&&... args) {
    static_assert(
        !takes_or_waits<Args...> || keeps || !std::is_move_constructible_v<T>,
        "lido: T takes a std::stop_token, and can do without: acquire(token, T(...)) waits "
        "with the token, acquire(T(token, ...)) passes it to T");
    static_assert(
        !takes_or_waits<Args...> || keeps || std::is_move_constructible_v<T>,
        "lido: T takes a std::stop_token, and can do without, and cannot be moved: "
        "acquire_for(time, token, ...) passes the token to T; to wait with the token, give T a "
        "constructor that takes its own first argument, such as a tag");
    static_assert(
        !takes_or_waits<Args...> || !keeps,
        "lido: Traits::hooks::activate takes a std::stop_token, and can do without: "
        "acquire_for(time, token, ...) passes the token to it; to wait with the token, give "
        "activate an overload that takes its own first argument, such as a tag");
    return acquire_within(code_address::here(), stop, std::forward<Args>(args)...);
  }

  /// Destroys `object` and frees its slot. Any thread may call this. Has no effect if `object` is
  /// nullptr. Never throws or blocks, and allocates no memory itself. (The C library may allocate
  /// in a thread that has not used a pool before, if the process created 32 or more thread-specific
  /// keys before its first pool.) Requires: `object` is nullptr, or came from this pool and has not
  /// been released since.
  [[LIDO_FAST_PATH, LIDO_ASSERTS]] void release(T* object) noexcept {
    const code_address at = code_address::here();
    LIDO_ASSERT(checks::active || refuses || object == nullptr || owns(object),
                "release of a pointer to no object of this pool");
    if (object == nullptr || !checks_.try_end(object, at)) [[unlikely]] {
      return;
    }
    destroy(object);
    put_slot(object);
  }

  /// Acquires value-initialised objects and stores their addresses at the front of `out`. Returns
  /// the number of acquired objects, which is less than out.size() only if the pool is exhausted.
  /// If a constructor throws, no object stays acquired.
  template <class = void>  // lets explicit instantiations compile if T needs arguments
  [[nodiscard, LIDO_ALWAYS_INLINE]] std::size_t try_acquire_n(std::span<T*> out) {
    return acquire_many(code_address::here(), out);
  }

  /// Releases each of `objects`, with few trips to the shared free list. Null pointers have no
  /// effect. Requires: no object occurs twice, and none contains the array of pointers itself.
  [[LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] void release_n(std::span<T* const> objects) noexcept {
    release_many(code_address::here(), objects);
  }

  /// Returns true if `object` points to a slot of this pool, in use or not. Wait-free.
  [[nodiscard]] bool owns(const T* object) const noexcept {
    return slots_.memory().template owns<sizeof(T)>(object);
  }

  /// Returns the number of slots. With `when_full::grow`, counts only slots that exist now.
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.capacity(); }

  /// Returns the largest number of slots that the pool can ever have.
  [[nodiscard]] std::size_t max_capacity() const noexcept { return slots_.max_capacity(); }

  /// Returns the name, which stays valid for the lifetime of the pool.
  [[nodiscard]] std::string_view name() const noexcept { return slots_.name(); }

  /// Returns a snapshot of the statistics. Wait-free.
  [[nodiscard]] slot_pool_stats stats() const noexcept { return slots_.stats(Traits::counts); }

  /// Returns the `stats().total_bytes` that a pool with `options` has before a thread uses it. If
  /// the pool grows, returns the value for max_capacity slots. Each thread that uses the pool adds
  /// the bytes of its cache. With `memory`, returns exactly how many bytes the pool takes from that
  /// source, whose first byte must then be aligned to 128 bytes and to `alignof(T)`. Requires: a
  /// pool can be made with `options`, apart from how many bytes the source has.
  [[nodiscard]] static std::size_t bytes_needed(const object_pool_options& options) noexcept {
    return detail::pool_slots::bytes_needed(options, layout());
  }

  /// Calls `f(T&)` for every object in use, in address order. `f` may release any object in use,
  /// including its argument. Objects that are acquired during the call may or may not be visited.
  /// Objects that are released before their turn are not visited. Requires: no other thread
  /// releases an object during the call.
  template <class F>
  void for_each_in_use(F&& f) {
    static_assert(Traits::track_in_use || checks::active,
                  "lido: for_each_in_use needs Traits::track_in_use = true");
    const auto is_used = [this](detail::slot_index slot) {
      if constexpr (checks::active) {
        return checks_.is_used(slot);
      } else {
        return slots_.memory().is_used(slot);
      }
    };
    const std::uint32_t count = slots_.memory().backed();
    for (detail::slot_index slot = 0; slot < count; ++slot) {
      if (is_used(slot)) {
        f(*std::launder(static_cast<T*>(slots_.memory().address_of(slot))));
      }
    }
  }

  /// Adds segments until there are at least `count` slots. With `creation::eager`, first creates an
  /// object in each new slot. Throws std::invalid_argument if `count` is more than max_capacity(),
  /// and whatever `create` throws. Throws growth_failed if there is no memory, or if hooks in other
  /// calls occupy the missing segments for a tenth of a second. Slots added before an exception
  /// stay. Blocking.
  void reserve(std::size_t count) { slots_.reserve(count); }

  /// Removes segments whose slots are all free, highest addresses first, as long as at least
  /// `count` slots remain. Gives the memory of removed segments back to the system. Returns the
  /// number of remaining slots. A segment also stays if a thread is moving one of its slots at that
  /// moment. Other threads can use the pool during the call, but an acquire that finds no slot
  /// waits until all free slots have been checked, or until a hook has returned. Blocking.
  std::size_t shrink_to(std::size_t count) noexcept { return slots_.shrink_to(count); }

 private:
  friend detail::pool_maker;

  /// Returns the first problem of `options`. A template, so that option_problem may be incomplete
  /// here.
  template <class Slots = detail::pool_slots>
  [[nodiscard]] static auto find_problem(const object_pool_options& options) noexcept {
    return Slots::find_problem(options, layout());
  }

  /// An argument that only a constructor with an unconstrained first parameter accepts.
  struct anything {};
  /// True if a token in front of `Args` may be meant for T as well as for the wait.
  template <class... Args>
  static constexpr bool takes_or_waits =
      // NOLINTNEXTLINE(misc-redundant-expression): equal where T is made of nothing else
      life::template takes<Args...>&& life::template takes<detail::stop_token, Args...> &&
      !life::template takes<anything, Args...>;

  static constexpr std::size_t chunk =
      std::size_t{detail::tuning::magazine_size} * detail::tuning::magazines_per_trip;

  static constexpr detail::slot_layout layout() noexcept {
    static_assert(std::is_nothrow_destructible_v<T>,
                  "lido: release is noexcept, so ~T must be, too");
    return {.size = sizeof(T),
            .alignment = alignof(T),
            .keeps = keeps,
            .has_states = keeps || tracks,
            .counts_states = keeps || (tracks && Traits::track_in_use),
            .record_bytes = checks::record_bytes,
            .close_all = &detail::slot_shadow<sizeof(T)>::close_all,
            .open_all = &detail::slot_shadow<sizeof(T)>::open_all};
  }

  // NOLINTNEXTLINE(readability-function-size): the slots of some pools
  [[LIDO_ASSERTS]] void end() noexcept {
    checks_.close();
    slots_.end(LIDO_ASSERTIONS != 0 && !checks::active);
    if constexpr (keeps && checks::active) {
      // Otherwise, a kept object in the cache of another thread would be reported as a write to a
      // free slot.
      for (detail::slot_index slot = 0; slot < slots_.max_capacity(); ++slot) {
        if (slots_.memory().has_object(slot) && !checks_.is_used(slot)) {
          checks_.after_destruction(slots_.memory().address_of(slot));
        }
      }
    }
  }

  /// Takes a free slot. Returns null if the pool is exhausted. A checked pool that is being
  /// destroyed, or has been destroyed, reports that and returns null, too.
  [[nodiscard, LIDO_FAST_PATH]] void* take_slot(code_address at) noexcept {
    return checks_.admits(at) ? slots_.allocator().template acquire<Traits::counts>() : nullptr;
  }
  [[LIDO_FAST_PATH]] void put_slot(void* slot) noexcept { slots_.allocator().release(slot); }

  // The public functions are inlined into their callers, and pass on the code addresses of the
  // callers.
  template <class... Args>
  lease_type acquire_at(code_address at, Args&&... args) {
    void* slot = take_slot(at);
    if (slot == nullptr) [[unlikely]] {
      slot = slots_.acquire_blocking();
    }
    return lease_type(construct(at, slot, std::forward<Args>(args)...), this);
  }

  template <class... Args>
  lease_type try_acquire_at(code_address at, Args&&... args) {
    void* const slot = take_slot(at);
    T* object = nullptr;
    if (slot != nullptr) [[likely]] {
      object = construct(at, slot, std::forward<Args>(args)...);
    }
    return lease_type(object, this);
  }

  /// Acquires as `try_acquire_at` does, but waits for a slot. `until` is the deadline or the stop
  /// token that ends the wait.
  template <class Until, class... Args>
  lease_type acquire_within(code_address at, const Until& until, Args&&... args) {
    void* slot = take_slot(at);
    if (slot == nullptr) [[unlikely]] {
      slot = slots_.wait_for_slot(until);
    }
    T* object = nullptr;
    if (slot != nullptr) [[likely]] {
      object = construct(at, slot, std::forward<Args>(args)...);
    }
    return lease_type(object, this);
  }

  template <class = void>
  std::size_t acquire_many(code_address at, std::span<T*> out) {
    std::size_t count = 0;
    detail::scope_exit undo([&] { release_many(at, out.first(count)); });
    while (count < out.size()) {
      std::array<void*, chunk> batch;
      const std::size_t wanted = out.size() - count < chunk ? out.size() - count : chunk;
      const std::size_t taken =
          checks_.admits(at) ? slots_.allocator().acquire_n(std::span(batch).first(wanted)) : 0;
      construct_many(at, std::span<void* const>(batch).first(taken), out, count);
      if (taken < wanted) {
        break;
      }
    }
    undo.dismiss();
    return count;
  }

  template <class = void>
  void construct_many(code_address at, std::span<void* const> batch, std::span<T*> out,
                      std::size_t& count) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      // If a constructor throws, the caller releases the objects in `out`, and this function
      // releases the slots that are not yet used.
      detail::scope_exit give_back([&] { slots_.allocator().release_n(batch.subspan(i + 1)); });
      out[count] = construct(at, batch[i]);
      ++count;
      give_back.dismiss();
    }
  }

  // NOLINTNEXTLINE(readability-function-size): objects within batches
  [[LIDO_ASSERTS]] void release_many(code_address at, std::span<T* const> objects) noexcept {
    while (!objects.empty()) {
      std::array<void*, chunk> batch;
      std::size_t admitted = 0;
      for (; admitted < batch.size() && !objects.empty(); objects = objects.subspan(1)) {
        batch[admitted] = objects.front();
        LIDO_ASSERT(
            checks::active || refuses || objects.front() == nullptr || owns(objects.front()),
            "release of a pointer to no object of this pool");
        LIDO_ASSERT(detail::address_bits(objects.data()) - detail::address_bits(batch[admitted]) >=
                        sizeof(T),
                    "release_n of an object that contains the array of objects");
        if (batch[admitted] != nullptr && checks_.try_end(batch[admitted], at)) {
          destroy(objects.front());
          ++admitted;
        }
      }
      slots_.allocator().release_n(std::span<void* const>(batch).first(admitted));
    }
  }

  [[LIDO_ASSERTS]] void refuse_unused(T* object) noexcept {
    if (!owns(object) ||
        !slots_.memory().is_used(slots_.memory().template index_of<sizeof(T)>(object))) {
      detail::report_release(object);
    }
  }

  /// Releases a slot after the constructor of its object threw.
  void take_back(void* slot) noexcept {
    checks_.after_destruction(slot);
    detail::slot_shadow<sizeof(T)>::close(slot);
    put_slot(slot);
  }

  template <class... Args>
  [[LIDO_FAST_PATH]] T* construct(code_address at, void* slot,
                                  Args&&... args) noexcept(life::template makes_nothrow<Args...>) {
    const bool made = life_.has_object(slots_.memory(), slot);
    if (!made) {
      detail::slot_shadow<sizeof(T)>::open(slot);
      checks_.before_construction(slot, at);
    }
    T* object = nullptr;
    if constexpr (life::template makes_nothrow<Args...>) {
      object = life_.make(slots_.memory(), slot, made, std::forward<Args>(args)...);
    } else {
      detail::scope_exit give_back([&] { take_back(slot); });
      object = life_.make(slots_.memory(), slot, made, std::forward<Args>(args)...);
      give_back.dismiss();
    }
    if constexpr (tracks) {
      slots_.memory().set_used(slots_.memory().template index_of<sizeof(T)>(object));
    }
    checks_.after_construction(object, at);
    return object;
  }

  [[LIDO_FAST_PATH]] void destroy(T* object) noexcept {
    if constexpr (refuses) {
      refuse_unused(object);
    }
    if constexpr (tracks) {
      const detail::slot_index slot = slots_.memory().template index_of<sizeof(T)>(object);
      LIDO_ASSERT(slots_.memory().is_used(slot), "release of what is not in use");
      slots_.memory().set_unused(slot,
                                 keeps ? detail::slot_content::kept : detail::slot_content::empty);
    }
    if (life_.finish(slots_.memory(), object)) {
      checks_.after_destruction(object);
      detail::slot_shadow<sizeof(T)>::close(object);
    }
  }

  detail::pool_slots slots_;
  [[LIDO_NO_UNIQUE_ADDRESS]] checks checks_;
  [[LIDO_NO_UNIQUE_ADDRESS]] life life_;
};

}  // namespace lido::inline v0
