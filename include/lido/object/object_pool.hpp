/// @file
/// Public. `object_pool<T>`: objects at stable addresses, for any number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
#include "lido/object/async_forms.hpp"
#include "lido/object/construction.hpp"
#include "lido/object/kept_objects.hpp"
#include "lido/object/lease.hpp"
#include "lido/object/options.hpp"
#include "lido/object/pointer_range.hpp"
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
class object_pool : private detail::complete_traits<Traits>,
                    public detail::async_forms<object_pool<T, Traits>> {
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
  using options_type = object_pool_options;   ///< type of the options
  using lease_type = lease<T, Traits>;        ///< type of the leases
  using hooks_type = typename Traits::hooks;  ///< type of the hooks

  /// Makes a pool of `capacity` slots. Throws std::invalid_argument if `capacity` is 0 or more than
  /// 2^32 - 2. Also throws std::bad_array_new_length or std::bad_alloc, which name the pool. May
  /// block briefly if another thread is exiting at that moment.
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

  /// Acquires as `try_acquire` does, but returns a pointer, or nullptr. The caller must release it.
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
  template <detail::unitless Number, class... Args>
  lease_type acquire_for(Number, Args&&...) = delete;  // rejects a number without a unit

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
  /// keys before its first pool.) If callbacks or coroutines wait for a slot, may call or resume
  /// them. Requires: `object` is nullptr, or came from this pool and has not been released since.
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

  /// Acquires an object for each element of `out` and stores the addresses in `out`. Returns the
  /// number of acquired objects, which is less than out.size() only if the pool is exhausted; their
  /// addresses are at the front, and the other elements keep their values. Each object is made from
  /// `args` as `acquire` makes one, but the arguments are passed as const lvalues. If a constructor
  /// throws, no object stays acquired, and the pointers that this call has stored are null.
  template <class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] std::size_t try_acquire_n(std::span<T*> out,
                                                                            const Args&... args) {
    return acquire_many(code_address::here(), out, args...);
  }

  /// Acquires objects as the form above does, but stores leases. First releases the objects of all
  /// leases in `out`. If a constructor throws, all leases in `out` are empty.
  template <class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] std::size_t try_acquire_n(
      std::span<lease_type> out, const Args&... args) {
    reset_all(out);
    return acquire_many(code_address::here(), out, args...);
  }

  /// Acquires out.size() objects as `try_acquire_n` does, or none. Returns true if it has acquired
  /// them. If it returns false or throws, all pointers in `out` are null.
  ///
  /// Constructs nothing before it has all slots. While it collects them, they count as in use. So
  /// if other calls compete for the last slots, each of them may find too few.
  template <class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] bool try_acquire_all(std::span<T*> out,
                                                                       const Args&... args) {
    return acquire_all(code_address::here(), out, args...);
  }

  /// Acquires all or none as the form above does, but stores leases. First releases the objects of
  /// all leases in `out`. If it returns false or throws, all leases in `out` are empty.
  template <class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] bool try_acquire_all(std::span<lease_type> out,
                                                                       const Args&... args) {
    reset_all(out);
    return acquire_all(code_address::here(), out, args...);
  }

  /// Releases each of `objects`, with few trips to the shared free list. Null pointers have no
  /// effect. Requires: no object occurs twice, and none contains the array of pointers itself.
  [[LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] void release_n(std::span<T* const> objects) noexcept {
    release_many(code_address::here(), objects.data(), objects.data() + objects.size());
  }

  /// Releases each object of a range of pointers that is not an array. Increments the iterator
  /// before it destroys the object, so the range may be a list that is linked through its objects.
  /// Requires: no object occurs twice, and iterating does not throw.
  template <detail::pointer_range<T> Pointers>
  [[LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] void release_n(Pointers&& objects) noexcept {
    release_many(code_address::here(), std::begin(objects), std::end(objects));
  }

  /// Returns true if `object` points to a slot of this pool, in use or not. Wait-free.
  [[nodiscard]] bool owns(const T* object) const noexcept {
    return slots_.memory().template owns<sizeof(T)>(object);
  }

  /// Returns the index of the slot that `object` points to. It is less than max_capacity(), and
  /// stays the same for the lifetime of the pool. Slots are contiguous: the slot with index i
  /// starts i * sizeof(T) bytes after the first one, whose alignment is alignof(T), but at least 64
  /// bytes. Wait-free. Requires: `object` points to a slot of this pool, in use or not.
  [[nodiscard, LIDO_ASSERTS]] std::uint32_t index_of(const T* object) const noexcept {
    LIDO_ASSERT(owns(object), "index_of a pointer to no slot of this pool");
    return slots_.memory().template index_of<sizeof(T)>(object);
  }

  /// Returns the object in the slot with this index. Wait-free. Requires: the object is in use.
  [[nodiscard, LIDO_ASSERTS]] T& at(std::uint32_t index) noexcept { return *object_at(index); }
  [[nodiscard, LIDO_ASSERTS]] const T& at(std::uint32_t index) const noexcept {
    return *object_at(index);
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
  /// the pool grows, returns the value for max_capacity slots. Each thread's cache adds some bytes.
  /// With `memory`, returns instead exactly how many bytes the pool takes from that source, with
  /// gaps and the bits of `release_all`. They must then be aligned to 128 bytes and to
  /// `alignof(T)`. Requires: a pool can be made with `options` if the source has enough bytes.
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
    const std::uint32_t count = slots_.memory().backed();
    for (detail::slot_index slot = 0; slot < count; ++slot) {
      if (is_used(slot)) {
        f(*in_slot(slot));
      }
    }
  }

  /// Adds segments until there are at least `count` slots. With `creation::eager`, first creates an
  /// object in each new slot. Throws std::invalid_argument if `count` is more than max_capacity(),
  /// and whatever `create` throws. Throws growth_failed if there is no memory, or if hooks in other
  /// calls occupy the missing segments for a tenth of a second. Slots added before an exception
  /// stay. Blocking.
  void reserve(std::size_t count) { slots_.reserve(count); }

  /// Gives memory back: removes slots, and destroys idle objects. Returns the number of remaining
  /// slots. Blocking.
  ///
  /// If the pool grows, removes segments whose slots are all free, highest addresses first, as long
  /// as at least `count` slots remain. Gives the memory of removed segments back to the system. A
  /// segment also stays if a thread is moving one of its slots at that moment.
  /// If the pool keeps objects, then destroys idle objects until at most `count` objects are alive,
  /// whether in use or idle. Acquires of slots without an object create one again, even if idle
  /// objects remain. Has no effect in a pool of fixed capacity that keeps no objects.
  ///
  /// Other threads may use the pool meanwhile. Objects in slots that they acquire or move may stay.
  /// An acquire that finds no slot waits, for at most a tenth of a second without progress; see the
  /// class. A `destroy` hook may use the pool, but must not wait for its own slot to become free.
  std::size_t shrink_to(std::size_t count) noexcept { return slots_.shrink_to(count); }

  /// Destroys all objects in use, in no particular order, and makes all slots free. Afterwards the
  /// pool hands out its slots in the order in which a new pool does.
  ///
  /// If T has a trivial destructor, does not visit the objects, unless the pool is checked or
  /// tracks which objects are in use. Otherwise throws std::bad_alloc, without effect, if there is
  /// no memory for one bit per slot. A pool with `memory` has it. Does not compile with hooks.
  ///
  /// Pointers to the objects are invalid afterwards. So are leases, which must be detached before
  /// the call or after it. A checked pool, or AddressSanitizer, reports a later release of such an
  /// object, unless its slot has been acquired again.
  ///
  /// Blocking: waits for threads that are exiting. Requires: no other thread uses the pool during
  /// the call; no constructor or destructor of T calls this, and no destructor of T uses the pool
  /// in any other way. So no object may own a non-empty lease of the same pool.
  template <class = void>  // lets explicit instantiations compile if the pool has hooks
  [[LIDO_ALWAYS_INLINE]] void release_all() {
    end_all_uses(code_address::here());
  }

 private:
  friend detail::pool_maker;
  friend detail::async_waits<object_pool>;

  /// Returns the first problem of `options`. In a template, option_problem may be incomplete here.
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
    return {
        .size = sizeof(T),
        .alignment = alignof(T),
        .keeps = keeps,
        .has_states = keeps || tracks,
        .counts_states = keeps || (tracks && Traits::track_in_use),
        .record_bytes = checks::record_bytes,
        .visits_used = !keeps && (!std::is_trivially_destructible_v<T> || tracks || checks::active),
        .close_all = &detail::slot_shadow<sizeof(T)>::close_all,
        .open_all = &detail::slot_shadow<sizeof(T)>::open_all};
  }

  // NOLINTNEXTLINE(readability-function-size): the slots of some pools
  [[LIDO_ASSERTS]] void end() noexcept {
    checks_.close();
    slots_.end(LIDO_ASSERTIONS != 0 && !checks::active);
    if constexpr (keeps && checks::active) {
      // Otherwise, a kept object in another thread's cache would count as a write to a free slot.
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

  // The public functions are inlined into their callers, whose code addresses they pass on.
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

  /// Constructs an object in `slot`. Returns an empty lease if `slot` is null.
  template <class... Args>
  lease_type lease_in(code_address at, void* slot, Args&&... args) {
    T* const object = slot != nullptr ? construct(at, slot, std::forward<Args>(args)...) : nullptr;
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

  // ---- many at once: a place is a pointer or a lease, in the caller's array --------------------

  static void put(T*& place, T* object, object_pool* /*pool*/) noexcept { place = object; }
  static void put(lease_type& place, T* object, object_pool* pool) noexcept {
    place.object_ = object;
    place.pool_ = pool;
  }
  static T* peek(T* place) noexcept { return place; }
  static T* peek(const lease_type& place) noexcept { return place.get(); }

  [[LIDO_ASSERTS]] static void reset_all(std::span<lease_type> leases) noexcept {
    for (lease_type& each : leases) {
      each.reset();
    }
  }

  template <class Place, class... Args>
  [[LIDO_ASSERTS]] std::size_t acquire_many(code_address at, std::span<Place> out,
                                            const Args&... args) {
    const std::size_t count = take_slots(at, out);
    construct_all(at, out.first(count), args...);
    return count;
  }

  template <class Place, class... Args>
  [[LIDO_ASSERTS]] bool acquire_all(code_address at, std::span<Place> out, const Args&... args) {
    const std::size_t count = out.size() <= max_capacity() ? take_slots(at, out) : 0;
    if (count < out.size()) {
      put_slots(out.first(count));
      for (Place& each : out.subspan(count)) {
        put(each, nullptr, this);
      }
      return false;
    }
    construct_all(at, out, args...);
    return true;
  }

  /// Takes free slots and stores their addresses at the front of `out`. Returns their number, which
  /// is less than out.size() only if the pool is exhausted.
  template <class Place>
  std::size_t take_slots(code_address at, std::span<Place> out) noexcept {
    std::size_t count = 0;
    if (!checks_.admits(at)) {
      return count;
    }
    // A few hits cost less than the fixed cost of a batch.
    bool hits = out.size() < chunk;
    while (hits && count < out.size()) {
      void* slot = nullptr;
      hits = slots_.allocator().template try_hit<Traits::counts>(slot);
      if (!hits && (slot = slots_.allocator().acquire_after_miss()) == nullptr) {
        return count;
      }
      put(out[count++], static_cast<T*>(slot), this);
    }
    return count == out.size() ? count : count + take_batches(out.subspan(count));
  }

  /// Takes slots as `take_slots` does, in batches.
  template <class Place>
  [[LIDO_SLOW_PATH]] std::size_t take_batches(std::span<Place> out) noexcept {
    std::size_t count = 0;
    std::size_t wanted = 0;
    std::size_t taken = 0;
    while (count < out.size() && taken == wanted) {
      std::array<void*, chunk> batch;
      wanted = out.size() - count < chunk ? out.size() - count : chunk;
      taken = slots_.allocator().acquire_n(std::span(batch).first(wanted));
      for (std::size_t i = 0; i < taken; ++i) {
        put(out[count++], static_cast<T*>(batch[i]), this);
      }
    }
    return count;
  }

  /// Frees the slots in `places`, which contain no objects in use. The places are null afterwards.
  template <class Place>
  void put_slots(std::span<Place> places) noexcept {
    while (!places.empty()) {
      std::array<void*, chunk> batch;
      const std::size_t size = places.size() < chunk ? places.size() : chunk;
      for (std::size_t i = 0; i < size; ++i) {
        batch[i] = peek(places[i]);
        put(places[i], nullptr, this);
      }
      slots_.allocator().release_n(std::span<void* const>(batch).first(size));
      places = places.subspan(size);
    }
  }

  /// Constructs an object in each of the slots in `places`. If a constructor throws, destroys the
  /// objects before that one and frees all the slots.
  template <class Place, class... Args>
  [[LIDO_ASSERTS]] void construct_all(code_address at, std::span<Place> places,
                                      const Args&... args) {
    std::size_t made = 0;
    detail::scope_exit undo([&] {
      put(places[made], nullptr, this);  // `construct` has freed this slot
      put_slots(places.subspan(made + 1));
      for (Place& each : places.first(made)) {
        end_use(at, peek(each));
        put(each, nullptr, this);
      }
    });
    for (; made < places.size(); ++made) {
      put(places[made], construct(at, peek(places[made]), args...), this);
    }
    undo.dismiss();
  }

  [[LIDO_ASSERTS]] void end_use(code_address at, T* object) noexcept {
    if (checks_.try_end(object, at)) {
      destroy(object);
      put_slot(object);
    }
  }

  template <class Next, class End>
  // NOLINTNEXTLINE(readability-function-size): objects within batches
  [[LIDO_ASSERTS]] void release_many(code_address at, Next next, const End& end) noexcept {
    while (next != end) {
      std::array<void*, chunk> batch;
      std::size_t admitted = 0;
      while (admitted < batch.size() && next != end) {
        T* const object = *next;
        LIDO_ASSERT(checks::active || refuses || object == nullptr || owns(object),
                    "release of a pointer to no object of this pool");
        if constexpr (std::is_pointer_v<Next>) {
          LIDO_ASSERT(detail::address_bits(next) - detail::address_bits(object) >= sizeof(T),
                      "release_n of an object that contains the array of objects");
        }
        ++next;
        batch[admitted] = object;
        if (object != nullptr && checks_.try_end(object, at)) {
          destroy(object);
          ++admitted;
        }
      }
      slots_.allocator().release_n(std::span<void* const>(batch).first(admitted));
    }
  }

  [[nodiscard]] T* in_slot(detail::slot_index slot) const noexcept {
    return std::launder(static_cast<T*>(slots_.memory().address_of(slot)));
  }
  [[nodiscard, LIDO_ASSERTS]] T* object_at(detail::slot_index slot) const noexcept {
    LIDO_ASSERT(slot < slots_.memory().backed(), "an index of no slot of this pool");
    LIDO_ASSERT(is_used(slot), "an index of an object that is not in use");
    return in_slot(slot);
  }
  /// Returns true if the object in the slot is in use, or if the pool does not track that.
  [[nodiscard]] bool is_used([[maybe_unused]] detail::slot_index slot) const noexcept {
    if constexpr (checks::active) {
      return checks_.is_used(slot);
    } else if constexpr (tracks) {
      return slots_.memory().is_used(slot);
    } else {
      return true;
    }
  }

  template <class = void>
  [[LIDO_ASSERTS]] void end_all_uses(code_address at) {
    static_assert(!keeps,
                  "lido: release_all is for pools without Traits::hooks: a pool that keeps its "
                  "objects calls deactivate for each, so release them one by one");
    class destroyer final : public detail::used_slot_visitor {
     public:
      destroyer(object_pool& pool, code_address at) noexcept : pool_(pool), at_(at) {}
      void visit(detail::slot_index slot) noexcept override {
        T* const object = pool_.in_slot(slot);
        if (pool_.checks_.try_end(object, at_)) {
          pool_.destroy(object);
        }
      }

     private:
      object_pool& pool_;
      [[LIDO_NO_UNIQUE_ADDRESS]] code_address at_;
    };
    if constexpr (layout().visits_used) {
      destroyer each(*this, at);
      slots_.allocator().restart(&each);
    } else {
      slots_.allocator().restart(nullptr);
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
