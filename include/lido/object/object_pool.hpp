/// @file
/// Public. `object_pool<T>`: a fixed number of objects for any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/base/mutation.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/magazine/slot_source_impl.hpp"
#include "lido/memory/slot_array.hpp"
#include "lido/object/construction.hpp"
#include "lido/object/growth.hpp"
#include "lido/object/lease.hpp"
#include "lido/object/options.hpp"
#include "lido/object/policy.hpp"
#include "lido/object/use_tracking.hpp"

namespace lido {

/// A fixed array of slots behind a lock-free free list with per-thread caches. Objects never move.
///
/// An object is constructed when it is acquired and destroyed when it is released. A constructor
/// that throws costs no slot. `capacity()` objects can be out at once, however many free slots the
/// caches of other threads hold.
///
/// All functions are thread-safe unless they say otherwise. An acquire or release that hits the
/// thread's cache is wait-free, without atomic read-modify-write or fence; otherwise lock-free, but
/// for an acquire that finds nothing while another thread stands still in the middle of moving
/// slots: it waits for that thread, up to about a tenth of a second.
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
class object_pool : public detail::growth_base<object_pool<T, Policies...>, Policies...> {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                "lido: a pool holds objects: no references, arrays or const types");
  static_assert(std::is_nothrow_destructible_v<T>, "lido: release is noexcept, so ~T must be, too");
  static_assert((... && detail::pool_policy<Policies>),
                "lido: object_pool<T, ...> takes policies after T; see lido/object/policy.hpp");

  using cache_policy = typename detail::select_policy<detail::is_cache_policy,
                                                      policy::revocable_cache, Policies...>::type;
  using list_policy = typename detail::select_policy<detail::is_list_policy, policy::treiber_list,
                                                     Policies...>::type;
  using exhaustion_policy =
      typename detail::select_policy<detail::is_exhaustion_policy, policy::fail, Policies...>::type;
  using tracking_policy = typename detail::select_policy<detail::is_tracking_policy,
                                                         policy::untracked, Policies...>::type;
  using check_policy =
      typename detail::select_policy<detail::is_check_policy, policy::unchecked, Policies...>::type;
  using checks = typename check_policy::template checks<sizeof(T)>;
  using place = typename checks::place;
  static constexpr bool grows = detail::growing_policy<exhaustion_policy>;
  static_assert(!grows || detail::growing_list_policy<list_policy>,
                "lido: policy::grow needs policy::treiber_list, whose links can grow");
  static_assert(!grows || !checks::active,
                "lido: policy::grow does not go with policy::checked, which has a record of every "
                "slot from the start");
  // The records of a checked pool say which slots are in use, too.
  using parts =
      detail::pool_parts<T, list_policy, tracking_policy::tracks && !checks::active, grows>;

 public:
  using value_type = T;
  using lease_type = lease<T, object_pool>;

  /// A pool of `capacity` slots. Throws std::invalid_argument (0, or more than 2^32 - 2; what is
  /// wrong with options), std::bad_array_new_length or std::bad_alloc; with `policy::grow` also
  /// growth_failed. Blocks for a moment while other threads end.
  explicit object_pool(std::size_t capacity)
      : object_pool(object_pool_options{.capacity = capacity}) {
    static_assert(!grows, "lido: a pool with policy::grow is told its max_capacity, in options");
  }

  explicit object_pool(const object_pool_options& options)
      : name_(options.name),
        capacity_(parts::most_slots(checked(options))),
        slots_(capacity_),
        tracking_(capacity_),
        checks_(name_, slots_.first(), capacity_),
        shadow_(slots_.first(), grows ? 0 : capacity_),
        backing_(slots_, tracking_),
        source_(parts::make_source(slots_, capacity_, cache_policy::caches, options, backing_)) {
    if constexpr (grows) {
      this->reserve(options.capacity);
    }
  }

  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;
  ~object_pool() = default;

  /// An object made from `args` (none: value-initialised; `default_init`: default-initialised).
  /// When exhausted does what the policy says; `policy::fail` throws pool_exhausted. Throws what
  /// T's constructor throws.
  template <class... Args>
  [[nodiscard, gnu::always_inline]] lease_type acquire(Args&&... args) {
    return acquire_at(place::here(), std::forward<Args>(args)...);
  }

  /// As `acquire`, but an empty lease when exhausted. Waits for no slot to be released; for what it
  /// may wait see above.
  template <class... Args>
  [[nodiscard, gnu::always_inline]] lease_type try_acquire(Args&&... args) {
    return try_acquire_at(place::here(), std::forward<Args>(args)...);
  }

  /// As `try_acquire`, for those who keep their own pointers; nullptr when exhausted.
  template <class... Args>
  [[nodiscard, gnu::always_inline]] T* try_acquire_ptr(Args&&... args) noexcept(
      detail::makes_nothrow<T, Args...>) {
    void* const slot = take_slot();
    if (slot == nullptr) [[unlikely]] {
      return nullptr;
    }
    return construct(place::here(), slot, std::forward<Args>(args)...);
  }

  /// Destroys `object` and frees its slot. From any thread; never throws, allocates or blocks.
  /// Requires: `object` came from this pool and was not released since, or is nullptr (no effect).
  [[gnu::always_inline]] void release(T* object) noexcept {
    if (object != nullptr && checks_.admit_release(object, place::here())) [[likely]] {
      destroy(object);
      put_slot(object);
    }
  }

  /// Value-initialised objects into the front of `out`; returns how many: fewer than out.size()
  /// only when exhausted. If a constructor throws, none is acquired.
  [[nodiscard, gnu::always_inline]] std::size_t try_acquire_n(std::span<T*> out) {
    return acquire_all(place::here(), out);
  }

  /// As `release` of each, in few trips; nullptr has no effect here either. Requires: no object is
  /// there twice.
  [[gnu::always_inline]] void release_n(std::span<T* const> objects) noexcept {
    release_all(place::here(), objects);
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

  /// A snapshot; see pool_stats for what it promises. Wait-free, reads one line for each thread
  /// number.
  [[nodiscard]] pool_stats stats() const noexcept { return source_.stats(); }

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
  static constexpr std::size_t bulk_chunk = detail::most_per_trip;

  /// Before any memory is asked for.
  static const object_pool_options& checked(const object_pool_options& options) {
    detail::check_options(options, grows);
    return options;
  }

  [[nodiscard]] std::uint32_t slots_to_visit() const noexcept {
    if constexpr (grows) {
      return tracking_.size();
    } else {
      return capacity_;
    }
  }

  [[nodiscard, gnu::always_inline]] void* take_slot() noexcept {
    void* slot = nullptr;
    if constexpr (cache_policy::caches == detail::cache_choice::none) {
      slot = source_.acquire_shared();
    } else if constexpr (detail::detouring_policy<cache_policy>) {
      slot = take_slot_by_detour(cache_policy::before_acquire());
    } else if constexpr (cache_policy::caches == detail::cache_choice::locked) {
      slot = source_.acquire_locked();
    } else {
      slot = source_.acquire();
    }
    return slot;
  }

  [[gnu::always_inline]] void put_slot(void* slot) noexcept {
    if constexpr (cache_policy::caches == detail::cache_choice::none) {
      source_.release_shared(slot);
    } else if constexpr (detail::detouring_policy<cache_policy>) {
      put_slot_by_detour(cache_policy::before_release(), slot);
    } else if constexpr (cache_policy::caches == detail::cache_choice::locked) {
      source_.release_locked(slot);
    } else {
      source_.release(slot);
    }
  }

  [[nodiscard]] void* take_slot_by_detour(detail::detour detour) noexcept {
    if (detour == detail::detour::refused) {
      return nullptr;
    }
    return detour == detail::detour::none ? source_.acquire() : source_.acquire_shared();
  }

  void put_slot_by_detour(detail::detour detour, void* slot) noexcept {
    if (detour == detail::detour::none) {
      source_.release(slot);
    } else {
      source_.release_shared(slot);
    }
  }

  // The public functions are inlined into their callers, and hand down their callers' place.
  template <class... Args>
  lease_type acquire_at(place at, Args&&... args) {
    void* const slot = take_slot();
    if (slot == nullptr) [[unlikely]] {
      report_exhausted();
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
    checks_.after_failed_construction(slot);
    shadow_.close(slot);
    if (!detail::broken(detail::mutation::lose_on_throw)) {
      put_slot(slot);
    }
  }

  template <class... Args>
  T* construct(place at, void* slot, Args&&... args) noexcept(detail::makes_nothrow<T, Args...>) {
    shadow_.open(slot);
    checks_.before_construction(slot, at);
    T* object = nullptr;
    if constexpr (detail::makes_nothrow<T, Args...>) {
      object = detail::make<T>(slot, std::forward<Args>(args)...);
    } else {
      detail::scope_exit give_back([&] { take_back(slot); });
      object = detail::make<T>(slot, std::forward<Args>(args)...);
      give_back.dismiss();
    }
    if constexpr (tracking_policy::tracks && !checks::active) {
      tracking_.mark_used(slots_.index_of(object));
    }
    checks_.after_construction(object, at);
    return object;
  }

  void destroy(T* object) noexcept {
    if constexpr (tracking_policy::tracks && !checks::active) {
      tracking_.mark_free(slots_.index_of(object));
    }
    object->~T();
    checks_.after_destruction(object);
    shadow_.close(object);
  }

  std::size_t acquire_all(place at, std::span<T*> out) {
    std::size_t count = 0;
    detail::scope_exit undo([&] { release_all(at, out.first(count)); });
    while (count < out.size()) {
      std::array<void*, bulk_chunk> slots;
      const std::size_t wanted = std::min(out.size() - count, slots.size());
      const std::size_t taken = source_.acquire_n(std::span(slots).first(wanted));
      construct_all(at, std::span<void* const>(slots).first(taken), out, count);
      if (taken < wanted) {
        break;
      }
    }
    undo.dismiss();
    return count;
  }

  void construct_all(place at, std::span<void* const> slots, std::span<T*> out,
                     std::size_t& count) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      // What is in `out` is the caller's to undo; the slots not yet used are this function's.
      detail::scope_exit give_back([&] { source_.release_n(slots.subspan(i + 1)); });
      out[count] = construct(at, slots[i]);
      ++count;
      give_back.dismiss();
    }
  }

  bool destroy_if_admitted(T* object, place at) noexcept {
    const bool admitted = object != nullptr && checks_.admit_release(object, at);
    if (admitted) {
      destroy(object);
    }
    return admitted;
  }

  void release_all(place at, std::span<T* const> objects) noexcept {
    while (!objects.empty()) {
      std::array<void*, bulk_chunk> slots;
      std::size_t admitted = 0;
      for (; admitted < slots.size() && !objects.empty(); objects = objects.subspan(1)) {
        slots[admitted] = objects.front();
        admitted += destroy_if_admitted(objects.front(), at) ? 1 : 0;
      }
      source_.release_n(std::span<void* const>(slots).first(admitted));
    }
  }

  /// What knows which slots are in use.
  [[nodiscard]] const auto& uses() const noexcept {
    if constexpr (checks::active) {
      return checks_;
    } else {
      return tracking_;
    }
  }

  [[noreturn]] void report_growth_failed(int error) const {
    throw growth_failed(name_, capacity(), stats().in_use, error);
  }

  void report_exhausted() {
    if constexpr (grows) {
      if (const int error = source_.growth_error(); error != 0 && capacity() < capacity_) {
        report_growth_failed(error);
      }
    }
    exhaustion_policy::on_exhausted(
        {.pool_name = name_, .capacity = capacity(), .in_use = stats().in_use});
    throw pool_exhausted(name_, capacity(), stats().in_use);
  }

  std::string name_;
  std::uint32_t capacity_;  ///< the most there can be
  typename parts::slots slots_;
  [[no_unique_address]] typename parts::tracking tracking_;
  [[no_unique_address]] checks checks_;
  // After the checks, which look into the slots once more at their end.
  [[no_unique_address]] detail::slot_shadow<sizeof(T)> shadow_;
  [[no_unique_address]] typename parts::backing backing_;
  typename parts::source source_;
};

}  // namespace lido
