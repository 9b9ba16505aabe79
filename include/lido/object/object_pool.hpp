/// @file
/// Public. `object_pool<T>`: a fixed number of objects for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/magazine/slot_source_impl.hpp"
#include "lido/memory/slot_array.hpp"
#include "lido/object/bulk.hpp"
#include "lido/object/chosen_policies.hpp"
#include "lido/object/construction.hpp"
#include "lido/object/exhaustion.hpp"
#include "lido/object/growth.hpp"
#include "lido/object/lease.hpp"
#include "lido/object/options.hpp"
#include "lido/object/slot_route.hpp"
#include "lido/object/use_tracking.hpp"
#include "lido/object/waiting.hpp"

namespace lido {

/// A fixed array of slots behind a lock-free free list with per-thread caches. Objects never move.
///
/// An object is constructed when it is acquired and destroyed when it is released, or kept for the
/// next acquire; see `policy::keep_constructed`. A constructor that throws costs no slot.
/// `capacity()` objects can be out at once, however many free slots the caches of other threads
/// hold.
///
/// All functions are thread-safe unless they say otherwise. An acquire or release that hits the
/// thread's cache is wait-free, without fence or (but in locked caches) read-modify-write;
/// otherwise lock-free, but for an acquire that finds nothing while another thread stands still in
/// the middle of moving slots: it waits for that thread, up to about a tenth of a second.
///
/// With `policy::grow` slots come when they are needed, and go with `shrink_to`; see
/// growth_functions in lido/object/growth.hpp. An acquire that needs more asks the system for
/// memory or waits, up to three tenths of a second without progress, for another thread that does.
///
/// Not movable. Requires on destruction: no object is in use, no other thread is in a call. Threads
/// that used the pool may end before or after it.
/// Not async-signal-safe. The child of a fork may go on with the pool, end it, and make others: it
/// has all slots that were free but for those that another thread was moving at that moment; what
/// other threads held stays in use there.
template <class T, class... Policies>
class object_pool : public detail::growth_base<object_pool<T, Policies...>, Policies...>,
                    public detail::waiting_acquires<T, object_pool<T, Policies...>,
                                                    detail::pool_waits<Policies...>> {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && std::is_same_v<T, std::decay_t<T>>,
                "lido: a pool holds objects: no references, arrays, const or volatile types");
  static_assert(std::is_nothrow_destructible_v<T>, "lido: release is noexcept, so ~T must be, too");

  using chosen = detail::chosen_policies<Policies...>;
  using cache_policy = typename chosen::cache;
  using exhaustion_policy = typename chosen::exhaustion;
  using tracking_policy = typename chosen::tracking;
  using checks = typename chosen::check::template checks<sizeof(T)>;
  using place = typename checks::place;
  static constexpr bool grows = chosen::grows;
  static_assert(!grows || !checks::active,
                "lido: policy::grow does not go with policy::checked, which has a record of every "
                "slot from the start");
  // The records of a checked pool say which slots are in use, too.
  using parts = detail::pool_parts<T, typename chosen::list, typename chosen::life_cycle,
                                   tracking_policy::tracks && !checks::active, grows>;
  using life_cycle = typename parts::life_cycle;
  using waiting = detail::waiting_acquires<T, object_pool, chosen::waits>;
  using bulk = detail::bulk<object_pool, place>;
  static constexpr auto waiting_kind =
      chosen::waits ? detail::waiting_choice::allowed : detail::waiting_choice::forbidden;

 public:
  using value_type = T;
  using lease_type = lease<T, object_pool>;
  /// The Hooks of `policy::keep_constructed`.
  using hooks_type = typename life_cycle::hooks_type;

  /// A pool of `capacity` slots. Throws std::invalid_argument (0, or more than 2^32 - 2; what is
  /// wrong with options), std::bad_array_new_length or std::bad_alloc; with `policy::grow` also
  /// growth_failed. Blocks for a moment while other threads end.
  template <class = void>  // so that an explicit instantiation of a growing pool compiles
  explicit object_pool(std::size_t capacity)
      : object_pool(object_pool_options{.capacity = capacity}) {
    static_assert(!grows, "lido: a pool with policy::grow is told its max_capacity, in options");
  }

  /// The same with all options; with the hooks of `policy::keep_constructed`, if it has any to be
  /// given; and with the object that is asked when the pool is exhausted, see
  /// `policy::on_exhausted`. With `creation::eager` throws what the hooks do.
  explicit object_pool(const object_pool_options& options, hooks_type hooks = hooks_type(),
                       exhaustion_policy when_exhausted = detail::default_of<exhaustion_policy>())
      : name_(options.name),
        capacity_(parts::most_slots(checked(options))),
        slots_(capacity_),
        tracking_(capacity_),
        checks_(name_, slots_.first(), capacity_),
        shadow_(slots_.first(), grows ? 0 : capacity_),
        life_(capacity_, std::move(hooks)),
        backing_(slots_, tracking_, life_),
        source_(parts::make_source(slots_, capacity_, cache_policy::caches, options, waiting_kind,
                                   backing_)),
        exhaustion_(std::move(when_exhausted)) {
    if constexpr (grows) {
      this->reserve(options.capacity);
    }
    life_.begin(options, capacity(), slots_, checks_, shadow_);
  }

  object_pool(const object_pool_options& options, exhaustion_policy when_exhausted)
      : object_pool(options, hooks_type(), std::move(when_exhausted)) {}

  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;
  ~object_pool() {
    if constexpr (chosen::waits) {
      if (const std::size_t count = source_.count_waiting(); count != 0) [[unlikely]] {
        detail::end_for_waiters(name_, count);
      }
    }
    life_.end([this](std::span<void*> out) { return parts::take_present(source_, out); }, slots_,
              checks_, shadow_);
  }

  /// An object made from `args` (none: value-initialised; `default_init`: default-initialised).
  /// When exhausted does what the policy says: `policy::fail` throws pool_exhausted,
  /// `policy::block` waits, and `policy::on_exhausted` asks, which may end in an empty lease.
  /// Throws what T's constructor throws. For acquire_for, acquire_until and
  /// acquire(std::stop_token, args...), which need `policy::block`, see waiting.hpp.
  template <class... Args>
  [[nodiscard, gnu::always_inline]] lease_type acquire(Args&&... args) {
    return acquire_at(place::here(), std::forward<Args>(args)...);
  }
  using waiting::acquire;

  /// As `acquire`, but an empty lease when exhausted. Waits for no slot to be released; for what it
  /// may wait see above.
  template <class... Args>
  [[nodiscard, gnu::always_inline]] lease_type try_acquire(Args&&... args) {
    return try_acquire_at(place::here(), std::forward<Args>(args)...);
  }

  /// As `try_acquire`, for those who keep their own pointers; nullptr when exhausted.
  template <class... Args>
  [[nodiscard, gnu::always_inline]] T* try_acquire_ptr(Args&&... args) noexcept(
      life_cycle::template makes_nothrow<Args...>) {
    void* const slot = take_slot();
    if (slot == nullptr) [[unlikely]] {
      return nullptr;
    }
    return construct(place::here(), slot, std::forward<Args>(args)...);
  }

  /// Destroys `object` and frees its slot. From any thread; never throws or blocks, and allocates
  /// nothing itself. (The C library may in a thread that used no pool before, in a process that had
  /// created 32 or more thread-specific keys before its first pool.) Requires: `object` came from
  /// this pool and was not released since, or is nullptr (no effect).
  [[gnu::always_inline]] void release(T* object) noexcept {
    const place at = place::here();
    typename checks::holding found;
    if (object == nullptr) [[unlikely]] {
      return;
    }
    if (!checks_.try_end(object, at, found)) [[unlikely]] {
      release_slow(object, at, found);
      return;
    }
    destroy(object, found);
    put_slot(object);
  }

  /// Value-initialised objects into the front of `out`; returns how many: fewer than out.size()
  /// only when exhausted. If a constructor throws, none is acquired.
  template <class = void>  // so that an explicit instantiation compiles where T needs arguments
  [[nodiscard, gnu::always_inline]] std::size_t try_acquire_n(std::span<T*> out) {
    return bulk::acquire(*this, place::here(), out);
  }

  /// As `release` of each, in few trips; nullptr has no effect here either. Requires: no object is
  /// there twice, and `objects` lies in none of them.
  [[gnu::always_inline]] void release_n(std::span<T* const> objects) noexcept {
    bulk::release(*this, place::here(), objects);
  }

  /// Whether `object` points at a slot of this pool, in use or not. Wait-free.
  [[nodiscard]] bool owns(const T* object) const noexcept { return slots_.owns(object); }

  /// Slots that can be out at once; with `policy::grow` those that are there now.
  [[nodiscard]] std::size_t capacity() const noexcept {
    if constexpr (grows) {
      return source_.capacity();
    } else {
      return capacity_;
    }
  }

  /// Most slots there can ever be.
  [[nodiscard]] std::size_t max_capacity() const noexcept { return capacity_; }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// A snapshot; see pool_stats. Wait-free, reads two lines for each thread number.
  [[nodiscard]] pool_stats stats() const noexcept {
    pool_stats stats = source_.stats();
    stats.created = life_.created(stats.in_use);
    stats.bookkeeping_bytes += tracking_.memory() + life_.memory();
    stats.total_bytes = stats.capacity * sizeof(T) + stats.bookkeeping_bytes + checks_.memory();
    return stats;
  }

  /// Calls `f(T&)` for every object in use, in the order of their addresses. Needs
  /// `policy::track_in_use` or `policy::checked`. Requires: no object is released during the call;
  /// one that is acquired during it may be visited or not.
  template <class F>
  void for_each_in_use(F&& f) {
    static_assert(tracking_policy::tracks || checks::active,
                  "lido: for_each_in_use needs object_pool<T, policy::track_in_use>");
    for (detail::slot_index slot = 0; slot < slots_to_visit(); ++slot) {
      if (uses().is_used(slot)) {
        f(*std::launder(static_cast<T*>(slots_.address_of(slot))));
      }
    }
  }

 private:
  friend detail::growth_functions<object_pool>;
  friend waiting;
  friend bulk;

  /// Before any memory is asked for.
  static const object_pool_options& checked(const object_pool_options& options) {
    detail::check_options(options, grows);
    return options;
  }

  [[nodiscard]] std::uint32_t slots_to_visit() const noexcept {
    return grows ? tracking_.size() : capacity_;
  }

  [[nodiscard, gnu::always_inline]] void* take_slot() noexcept {
    return detail::slot_route<cache_policy>::take(source_);
  }
  [[gnu::always_inline]] void put_slot(void* slot) noexcept {
    detail::slot_route<cache_policy>::put(source_, slot);
  }

  // The public functions are inlined into their callers, and hand down their callers' place.
  template <class... Args>
  lease_type acquire_at(place at, Args&&... args) {
    void* slot = take_slot();
    if (slot == nullptr) [[unlikely]] {
      slot = this->take_slot_when_exhausted();
      if (slot == nullptr) {
        return lease_type(nullptr, this);
      }
    }
    return lease_type(construct(at, slot, std::forward<Args>(args)...), this);
  }

  template <class... Args>
  lease_type try_acquire_at(place at, Args&&... args) {
    void* const slot = take_slot();
    T* object = nullptr;
    if (slot != nullptr) [[likely]] {
      object = construct(at, slot, std::forward<Args>(args)...);
    }
    return lease_type(object, this);
  }

  /// After a constructor has thrown.
  void take_back(void* slot) noexcept {
    checks_.after_destruction(slot, {});
    shadow_.close(slot);
    put_slot(slot);
  }

  template <class... Args>
  [[gnu::always_inline]] T* construct(place at, void* slot, Args&&... args) noexcept(
      life_cycle::template makes_nothrow<Args...>) {
    typename checks::thread me;
    if (life_.holds(slots_, slot)) {
      me = checks::this_thread();
    } else {
      shadow_.open(slot);
      me = checks_.before_construction(slot, at);
    }
    T* object = nullptr;
    if constexpr (life_cycle::template makes_nothrow<Args...>) {
      object = life_.make(slots_, slot, std::forward<Args>(args)...);
    } else {
      detail::scope_exit give_back([&] { take_back(slot); });
      object = life_.make(slots_, slot, std::forward<Args>(args)...);
      give_back.dismiss();
    }
    if constexpr (tracking_policy::tracks && !checks::active) {
      tracking_.mark_used(slots_.index_of(object));
    }
    checks_.after_construction(object, at, me);
    return object;
  }

  [[gnu::always_inline]] void destroy(T* object, typename checks::holding found) noexcept {
    if constexpr (tracking_policy::tracks && !checks::active) {
      tracking_.mark_free(slots_.index_of(object));
    }
    if (life_.finish(slots_, object)) {
      checks_.after_destruction(object, found);
      shadow_.close(object);
    }
  }

  /// Not inlined, so that the common path keeps its registers.
  [[gnu::noinline]] void release_slow(T* object, place at,
                                      typename checks::holding found) noexcept {
    if (checks_.try_end_slow(object, at, found)) {
      destroy(object, found);
      put_slot(object);
    }
  }

  bool destroy_if_admitted(T* object, place at) noexcept {
    typename checks::holding found;
    const bool admitted = object != nullptr && (checks_.try_end(object, at, found) ||
                                                checks_.try_end_slow(object, at, found));
    if (admitted) {
      destroy(object, found);
    }
    return admitted;
  }

  /// What knows which slots are in use.
  [[nodiscard]] const auto& uses() const noexcept {
    if constexpr (checks::active) {
      return checks_;
    } else {
      return tracking_;
    }
  }

  /// Before anybody is asked what to do about exhaustion: growth_failed, if that is why.
  void throw_if_growth_failed() const {
    if constexpr (grows) {
      if (const int error = source_.growth_error(); error != 0 && capacity() < capacity_) {
        report_growth_failed(error);
      }
    }
  }
  [[noreturn]] void report_growth_failed(int error) const {
    throw growth_failed(name_, capacity(), stats().in_use, error);
  }

  std::string name_;
  std::uint32_t capacity_;  ///< the most there can be
  typename parts::slots slots_;
  [[no_unique_address]] typename parts::tracking tracking_;
  [[no_unique_address]] checks checks_;
  // After the checks, which look into the slots once more at their end.
  [[no_unique_address]] detail::slot_shadow<sizeof(T)> shadow_;
  [[no_unique_address]] life_cycle life_;
  [[no_unique_address]] typename parts::backing backing_;
  typename parts::source source_;
  [[no_unique_address]] exhaustion_policy exhaustion_;
};

}  // namespace lido
