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
/// Not movable. Requires on destruction: no object is in use, no other thread is in a call. Threads
/// that used the pool may end before or after it.
/// Not async-signal-safe. The child of a fork may go on with the pool, end it, and make others: it
/// has all slots that were free but for those that another thread was moving at that moment; what
/// other threads held stays in use there.
template <class T, class... Policies>
class object_pool {
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
  // The records of a checked pool say which slots are in use, too.
  using tracking = detail::use_tracking<tracking_policy::tracks && !checks::active>;

 public:
  using value_type = T;
  using lease_type = lease<T, object_pool>;

  /// A pool of `capacity` slots. Throws std::invalid_argument (0, or more than 2^32 - 2),
  /// std::bad_array_new_length or std::bad_alloc. Blocks for a moment while other threads end.
  explicit object_pool(std::size_t capacity)
      : object_pool(object_pool_options{.capacity = capacity}) {}

  explicit object_pool(const object_pool_options& options)
      : name_(options.name),
        capacity_(static_cast<std::uint32_t>(checked(options).capacity)),
        slots_(capacity_),
        tracking_(capacity_),
        checks_(name_, slots_.first(), capacity_),
        shadow_(slots_.first(), capacity_),
        source_(slots_.geometry(), capacity_, cache_policy::caches,
                static_cast<std::uint32_t>(options.max_cached)) {}

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
    const place at = place::here();
    typename checks::holding found;
    if (object == nullptr) [[unlikely]] {
      return;
    }
    if (!checks_.is_held_here(object, found)) [[unlikely]] {
      release_as_other(object, at);
      return;
    }
    if (!checks_.end_alone(found, at)) [[unlikely]] {
      release_beside_others(object, found, at);
      return;
    }
    destroy(object, true);
    put_slot(object);
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

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
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
    for (detail::slot_index slot = 0; slot < capacity_; ++slot) {
      if (uses().is_used(slot)) {
        f(*std::launder(static_cast<T*>(slots_.address_of(slot))));
      }
    }
  }

 private:
  static constexpr std::size_t bulk_chunk = detail::most_per_trip;

  /// Before any memory is asked for.
  static const object_pool_options& checked(const object_pool_options& options) {
    if (options.capacity == 0 || options.capacity > detail::max_capacity) {
      detail::throw_invalid_option(options.name, "capacity " + std::to_string(options.capacity) +
                                                     " is not between 1 and " +
                                                     std::to_string(detail::max_capacity));
    }
    if (options.max_cached > detail::most_cached) {
      detail::throw_invalid_option(
          options.name, "max_cached " + std::to_string(options.max_cached) + " is more than " +
                            std::to_string(detail::most_cached));
    }
    return options;
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
  [[gnu::always_inline]] T* construct(place at, void* slot,
                                      Args&&... args) noexcept(detail::makes_nothrow<T, Args...>) {
    shadow_.open(slot);
    auto me = checks::this_thread();
    if (!checks_.is_as_left(slot, me)) [[unlikely]] {
      me = look_into(slot, at);
    }
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
    checks_.after_construction(object, at, me);
    return object;
  }

  [[gnu::always_inline]] void destroy(T* object, bool as_holder) noexcept {
    if constexpr (tracking_policy::tracks && !checks::active) {
      tracking_.mark_free(slots_.index_of(object));
    }
    object->~T();
    checks_.after_destruction(object, as_holder);
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

  // What the checks do rarely. Members of the pool, and no inlined part of their callers, so that
  // the common way keeps its registers.
  [[gnu::noinline]] auto look_into(void* slot, place at) noexcept {
    return checks_.look_into(slot, at);
  }
  [[gnu::noinline]] void release_as_other(T* object, place at) noexcept {
    if (checks_.end_as_other(object, at)) {
      destroy(object, false);
      put_slot(object);
    }
  }
  [[gnu::noinline]] void release_beside_others(T* object, typename checks::holding found,
                                               place at) noexcept {
    if (checks_.settle(object, found, at)) {
      destroy(object, true);
      put_slot(object);
    }
  }

  bool destroy_if_admitted(T* object, place at) noexcept {
    typename checks::holding found;
    if (object == nullptr) {
      return false;
    }
    const bool as_holder = checks_.is_held_here(object, found);
    const bool admitted = as_holder
                              ? checks_.end_alone(found, at) || checks_.settle(object, found, at)
                              : checks_.end_as_other(object, at);
    if (admitted) {
      destroy(object, as_holder);
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

  void report_exhausted() {
    exhaustion_policy::on_exhausted(
        {.pool_name = name_, .capacity = capacity_, .in_use = stats().in_use});
    throw pool_exhausted(name_, capacity_, stats().in_use);
  }

  std::string name_;
  std::uint32_t capacity_;
  detail::slot_array<T> slots_;
  [[no_unique_address]] tracking tracking_;
  [[no_unique_address]] checks checks_;
  // After the checks, which look into the slots once more at their end.
  [[no_unique_address]] detail::slot_shadow<sizeof(T)> shadow_;
  detail::slot_source<typename list_policy::stack> source_;
};

}  // namespace lido
