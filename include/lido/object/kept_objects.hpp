/// @file
/// Internal. The lifetime of a pool's objects: for a single use, or for many uses.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/object/construction.hpp"
#include "lido/object/pool_slots.hpp"
#include "lido/object/traits.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// Constructs an object in each acquire, from its arguments, and destroys the object in the
/// release.
template <class T>
struct constructed_each_time {
  static constexpr bool keeps = false;
  template <class... Args>
  static constexpr bool makes_nothrow = detail::makes_nothrow<T, Args...>;
  template <class... Args>
  static constexpr bool takes = makeable<T, Args...>;

  template <class Checks>
  constexpr constructed_each_time(no_hooks /*hooks*/, Checks& /*checks*/) noexcept {}

  [[nodiscard]] static constexpr object_keeper* keeper() noexcept { return nullptr; }

  [[nodiscard]] static constexpr bool has_object(const slot_memory& /*memory*/,
                                                 const void* /*slot*/) noexcept {
    return false;
  }

  template <class... Args>
  [[LIDO_FAST_PATH]] static T* make(slot_memory& /*memory*/, void* slot, bool /*made*/,
                                    Args&&... args) noexcept(makes_nothrow<Args...>) {
    return detail::make<T>(slot, std::forward<Args>(args)...);
  }

  [[nodiscard, LIDO_FAST_PATH]] static bool finish(slot_memory& /*memory*/, T* object) noexcept {
    object->~T();
    return true;
  }
};

/// Keeps released objects for later acquires, and calls hooks before and after each use; see
/// `pool_traits`.
template <class T, class Hooks, class Checks>
class kept_objects final : private object_keeper {
  template <class... Args>
  static constexpr bool passes_nothing = sizeof...(Args) == 0 || asks_default_init<Args...>::value;

  static constexpr bool creates_nothrow() noexcept {
    if constexpr (names_create<Hooks>) {
      return noexcept(std::declval<Hooks&>().create());  // makes the T in its slot directly
    } else {
      return std::is_nothrow_default_constructible_v<T>;
    }
  }

  template <class... Args>
  static constexpr bool activates_nothrow() noexcept {
    // Arguments that the hook does not accept are rejected by a static_assert in `activate`.
    if constexpr (passes_nothing<Args...> && activating_hooks<Hooks, T>) {
      return noexcept(std::declval<Hooks&>().activate(std::declval<T&>()));
    } else if constexpr (activating_hooks<Hooks, T, Args...>) {
      return noexcept(std::declval<Hooks&>().activate(std::declval<T&>(), std::declval<Args>()...));
    } else {
      return true;
    }
  }

 public:
  static constexpr bool keeps = true;
  template <class... Args>
  static constexpr bool makes_nothrow = creates_nothrow() && activates_nothrow<Args...>();
  /// True if an acquire with arguments of types `Args` compiles.
  template <class... Args>
  static constexpr bool takes = passes_nothing<Args...> || activating_hooks<Hooks, T, Args...>;

  /// Requires: `checks` outlives this object.
  kept_objects(Hooks hooks, Checks& checks) : hooks_(std::move(hooks)), checks_(checks) {
    (void)fitting_hooks<T, Hooks>();
  }

  [[nodiscard]] object_keeper* keeper() noexcept { return this; }

  /// Returns true if the slot contains an object. Requires: the caller owns the slot.
  [[nodiscard]] static bool has_object(const slot_memory& memory, const void* slot) noexcept {
    return memory.has_object(index_in(memory, slot));
  }

  /// Returns an active object in the slot. If `made` is false, creates the object first. Throws
  /// whatever the hooks throw. After an exception the slot is empty, because an object whose
  /// activation failed is in an unknown state and is therefore destroyed.
  template <class... Args>
  [[LIDO_FAST_PATH]] T* make(slot_memory& memory, void* slot, bool made,
                             Args&&... args) noexcept(makes_nothrow<Args...>) {
    const slot_index index = index_in(memory, slot);
    if (!made) [[unlikely]] {
      create(memory, index, slot);
    }
    T* const object = object_in(slot);
    if constexpr (activates_nothrow<Args...>()) {
      activate(*object, std::forward<Args>(args)...);
    } else {
      scope_exit give_up([&] { destroy(memory, index, object); });
      activate(*object, std::forward<Args>(args)...);
      give_up.dismiss();
    }
    return object;
  }

  /// Ends a use of the object. Returns true if the object was destroyed, which happens if
  /// `deactivate` refuses it or throws.
  [[nodiscard, LIDO_FAST_PATH]] bool finish(slot_memory& memory, T* object) noexcept {
    if (deactivate(*object)) [[likely]] {
      return false;
    }
    destroy(memory, index_in(memory, object), object);
    return true;
  }

 private:
  [[LIDO_ASSERTS]] static slot_index index_in(const slot_memory& memory,
                                              const void* slot) noexcept {
    return memory.index_of<sizeof(T)>(slot);
  }
  static T* object_in(void* slot) noexcept { return std::launder(static_cast<T*>(slot)); }

  [[LIDO_ASSERTS]] void create_in(slot_memory& memory, slot_index index) override {
    LIDO_ASSERT(!memory.has_object(index), "an object is made in a slot that has one");
    void* const slot = memory.address_of(index);
    slot_shadow<sizeof(T)>::open(slot);
    checks_.before_construction(slot, Checks::code_address::here());
    scope_exit undo([&] { leave(slot); });
    create(memory, index, slot);
    undo.dismiss();
  }
  [[LIDO_ASSERTS]] void destroy_in(slot_memory& memory, slot_index index) noexcept override {
    LIDO_ASSERT(memory.has_object(index), "an object is destroyed in a slot that has none");
    void* const slot = memory.address_of(index);
    destroy(memory, index, object_in(slot));
    leave(slot);
  }
  [[nodiscard]] std::size_t live() const noexcept override {
    // relaxed: used only for statistics
    return live_.load(std::memory_order_relaxed);
  }
  void leave(void* slot) noexcept {
    checks_.after_destruction(slot);
    slot_shadow<sizeof(T)>::close(slot);
  }

  [[LIDO_SLOW_PATH]] void create(slot_memory& memory, slot_index index,
                                 void* slot) noexcept(creates_nothrow()) {
    if constexpr (names_create<Hooks>) {
      ::new (slot) T(hooks_.create());
    } else {
      ::new (slot) T();
    }
    memory.set_unused(index, slot_content::kept);
    // relaxed: used only for statistics
    live_.fetch_add(1, std::memory_order_relaxed);
  }

  template <class... Args>
  [[LIDO_FAST_PATH]] void activate([[maybe_unused]] T& object, [[maybe_unused]] Args&&... args) {
    if constexpr (passes_nothing<Args...>) {
      static_assert(!names_activate<Hooks> || activating_hooks<Hooks, T>,
                    "lido: an acquire without arguments needs a Traits::hooks::activate(T&) -> "
                    "void");
      if constexpr (names_activate<Hooks>) {
        hooks_.activate(object);
      }
    } else {
      static_assert(names_activate<Hooks>,
                    "lido: the pool keeps its objects, so arguments of an acquire go to "
                    "Traits::hooks::activate(T&, args...), which is missing");
      static_assert(!names_activate<Hooks> || activating_hooks<Hooks, T, Args...>,
                    "lido: Traits::hooks::activate(T&, args...) -> void does not take these "
                    "arguments");
      hooks_.activate(object, std::forward<Args>(args)...);
    }
  }

  /// Calls `deactivate`, if the hooks have it. Returns true if the object may be kept.
  [[nodiscard, LIDO_FAST_PATH]] bool deactivate([[maybe_unused]] T& object) noexcept {
    if constexpr (!names_deactivate<Hooks>) {
      return true;
    } else if constexpr (noexcept(hooks_.deactivate(object))) {
      return call_deactivate(object);
    } else {
      return attempt([&] { return call_deactivate(object); }, [] { return false; });
    }
  }

  [[LIDO_FAST_PATH]] bool call_deactivate(T& object) {
    if constexpr (refusing_hooks<Hooks, T>) {
      return hooks_.deactivate(object);
    } else {
      hooks_.deactivate(object);
      return true;
    }
  }

  /// Destroys the object. First marks the slot as empty: if another thread forks during the call,
  /// the child process may find the slot, but it must not find an object there.
  [[LIDO_SLOW_PATH]] void destroy(slot_memory& memory, slot_index index, T* object) noexcept {
    memory.set_unused(index, slot_content::empty);
    // relaxed: used only for statistics
    live_.fetch_sub(1, std::memory_order_relaxed);
    if constexpr (names_destroy<Hooks>) {
      hooks_.destroy(*object);
    }
    object->~T();
  }

  [[LIDO_NO_UNIQUE_ADDRESS]] Hooks hooks_;
  Checks& checks_;
  // The count is not on the cache line of the members that every operation reads.
  alignas(no_false_sharing) shared_atomic<std::size_t> live_{0};
};

}  // namespace lido::inline v0::detail
