/// @file
/// Internal. The life cycle of `policy::keep_constructed`: objects outlive their release.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/object/construction.hpp"
#include "lido/object/hooks.hpp"
#include "lido/object/options.hpp"

namespace lido::detail {

/// Which slots hold an object, and the hooks around it.
///
/// A free slot holds an object or not. One byte a slot says so. It is plain, because it belongs to
/// the slot: only who has taken the slot out of the free list reads or writes it, and the free list
/// orders one owner after the other. Neighbouring bytes share a line, but are written only when an
/// object begins or ends.
template <class T, class Hooks, template <class> class Array>
class kept_objects : private fitting_hooks<T, Hooks> {
  template <class... Args>
  static constexpr bool passes_nothing = sizeof...(Args) == 0 || asks_default_init<Args...>::value;

  static constexpr bool creates_nothrow() noexcept {
    if constexpr (names_create<Hooks>) {
      return noexcept(std::declval<Hooks&>().create());  // which makes the T in its slot
    } else {
      return std::is_nothrow_default_constructible_v<T>;
    }
  }

  template <class... Args>
  static constexpr bool activates_nothrow() noexcept {
    // What does not fit is refused with words where it is called.
    if constexpr (passes_nothing<Args...> && activating_hooks<Hooks, T>) {
      return noexcept(std::declval<Hooks&>().activate(std::declval<T&>()));
    } else if constexpr (activating_hooks<Hooks, T, Args...>) {
      return noexcept(std::declval<Hooks&>().activate(std::declval<T&>(), std::declval<Args>()...));
    } else {
      return true;
    }
  }

 public:
  using hooks_type = Hooks;

  template <class... Args>
  static constexpr bool makes_nothrow = creates_nothrow() && activates_nothrow<Args...>();

  /// Throws std::bad_alloc.
  kept_objects(std::uint32_t capacity, Hooks hooks) : hooks_(std::move(hooks)), held_(capacity) {}

  static constexpr bool keeps = true;

  /// Makes room for the slots below `slots`; see mapped_array.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept { return held_.extend_to(slots); }

  /// Whether the slot holds an object. For the slot's owner.
  template <class Slots>
  [[nodiscard]] bool holds(const Slots& slots, void* slot) const noexcept {
    return held_[index_in(slots, slot)];
  }

  /// Objects that exist, in use or kept. For any thread.
  [[nodiscard]] std::size_t created(std::size_t /*in_use*/) const noexcept {
    // relaxed: a number for statistics
    return created_.load(std::memory_order_relaxed);
  }

  /// Bytes of memory beside the objects.
  [[nodiscard]] std::size_t memory() const noexcept { return held_.memory(); }

  /// An active object in the slot: the one that it holds, or a new one. Throws what the hooks do,
  /// and the slot then holds none: nobody knows how far an activation got.
  template <class Slots, class... Args>
  [[gnu::always_inline]] T* make(const Slots& slots, void* slot,
                                 Args&&... args) noexcept(makes_nothrow<Args...>) {
    const slot_index index = index_in(slots, slot);
    if (!held_[index]) [[unlikely]] {
      create(index, slot);
    }
    T* const object = object_in(slot);
    if constexpr (activates_nothrow<Args...>()) {
      activate(*object, std::forward<Args>(args)...);
    } else {
      scope_exit give_up([&] { destroy(index, object); });
      activate(*object, std::forward<Args>(args)...);
      give_up.dismiss();
    }
    return object;
  }

  /// The object's use is over. Returns whether the object is, too: `deactivate` returned false or
  /// threw.
  template <class Slots>
  [[nodiscard, gnu::always_inline]] bool finish(const Slots& slots, T* object) noexcept {
    if (deactivate(*object)) [[likely]] {
      return false;
    }
    destroy(index_in(slots, object), object);
    return true;
  }

  /// The beginning of the pool. If creation is eager, creates an object in each of the `present`
  /// first slots; throws what `create` throws, and leaves none behind then.
  template <class Slots, class Checks, class Shadow>
  void begin(const object_pool_options& options, std::size_t present, const Slots& slots,
             Checks& checks, Shadow& shadow) {
    eager_ = options.creation == creation::eager;
    if (!eager_) {
      return;
    }
    slot_index index = 0;
    scope_exit undo([&] {
      checks.after_destruction(slots.address_of(index), {});
      shadow.close(slots.address_of(index));
      while (index > 0) {
        end_one(slots.address_of(--index), slots, checks, shadow);
      }
    });
    for (; index < present; ++index) {
      void* const slot = slots.address_of(index);
      shadow.open(slot);
      (void)checks.before_construction(slot, Checks::place::here());
      create(index, slot);
    }
    undo.dismiss();
  }

  /// Whether slots that join the pool get an object before anybody can have them.
  [[nodiscard]] bool is_eager() const noexcept { return eager_; }

  /// Creates an object in each of these slots that holds none, and calls `after_each` after each.
  /// Throws what `create` throws; what was created stays. Requires: the slots are the caller's.
  template <class Slots, class Shadow, class Note>
  void fill(const Slots& slots, Shadow& shadow, slot_index first, std::uint32_t count,
            const Note& after_each) {
    for (slot_index index = first; index < first + count; ++index) {
      if (!held_[index]) {
        fill_one(slots.address_of(index), index, shadow);
        after_each();
      }
    }
  }

  /// The end of the pool: destroys what free slots hold. `take(out)` takes free slots for good;
  /// only of a slot out of the free list it is known that nobody uses it. What could not be taken
  /// is left alone, in the caches of other threads where they cannot be looked into; checks must
  /// not take its bytes for a write to a free slot.
  template <class Take, class Slots, class Checks, class Shadow>
  void end(const Take& take, const Slots& slots, Checks& checks, Shadow& shadow) noexcept {
    std::array<void*, 64> taken;
    while (const std::size_t count = take(std::span<void*>(taken))) {
      for (void* const slot : std::span(taken).first(count)) {
        end_one(slot, slots, checks, shadow);
      }
    }
    if constexpr (Checks::active) {
      disregard_held(slots, checks);
    }
  }

  /// Destroys what slots hold whose memory goes, and calls `after_each` after each. Requires: they
  /// are the caller's, out of the free list.
  template <class Slots, class Note>
  void destroy_kept(const Slots& slots, slot_index first, std::uint32_t count,
                    const Note& after_each) noexcept {
    for (slot_index index = first; index < first + count; ++index) {
      if (held_[index]) {
        destroy(index, object_in(slots.address_of(index)));
        after_each();
      }
    }
  }

 private:
  template <class Slots>
  static slot_index index_in(const Slots& slots, const void* slot) noexcept {
    return slots.index_of(static_cast<const T*>(slot));
  }
  static T* object_in(void* slot) noexcept { return std::launder(static_cast<T*>(slot)); }

  template <class Slots, class Checks, class Shadow>
  void end_one(void* slot, const Slots& slots, Checks& checks, Shadow& shadow) noexcept {
    if (const slot_index index = index_in(slots, slot); held_[index]) {
      destroy(index, object_in(slot));
      checks.after_destruction(slot, {});
      shadow.close(slot);
    }
  }

  template <class Slots, class Checks>
  void disregard_held(const Slots& slots, Checks& checks) noexcept {
    for (slot_index index = 0; index < checks.capacity(); ++index) {
      if (held_[index] && !checks.is_used(index)) {
        checks.after_destruction(slots.address_of(index), {});
      }
    }
  }

  template <class Shadow>
  void fill_one(void* slot, slot_index index, Shadow& shadow) {
    shadow.open(slot);
    scope_exit undo([&] { shadow.close(slot); });
    create(index, slot);
    undo.dismiss();
  }

  [[gnu::noinline]] void create(slot_index index, void* slot) noexcept(creates_nothrow()) {
    if constexpr (names_create<Hooks>) {
      ::new (slot) T(hooks_.create());
    } else {
      ::new (slot) T();
    }
    held_[index] = true;
    // relaxed: a number for statistics
    created_.fetch_add(1, std::memory_order_relaxed);
  }

  template <class... Args>
  [[gnu::always_inline]] void activate([[maybe_unused]] T& object,
                                       [[maybe_unused]] Args&&... args) {
    if constexpr (passes_nothing<Args...>) {
      static_assert(!names_activate<Hooks> || activating_hooks<Hooks, T>,
                    "lido: an acquire without arguments needs a Hooks::activate(T&) -> void");
      if constexpr (names_activate<Hooks>) {
        hooks_.activate(object);
      }
    } else {
      static_assert(names_activate<Hooks>,
                    "lido: the pool keeps its objects, so arguments of an acquire go to "
                    "Hooks::activate(T&, args...), which is missing");
      static_assert(!names_activate<Hooks> || activating_hooks<Hooks, T, Args...>,
                    "lido: Hooks::activate(T&, args...) -> void does not take these arguments");
      hooks_.activate(object, std::forward<Args>(args)...);
    }
  }

  /// Whether the object may be kept.
  [[nodiscard, gnu::always_inline]] bool deactivate([[maybe_unused]] T& object) noexcept {
    if constexpr (!names_deactivate<Hooks>) {
      return true;
    } else if constexpr (noexcept(hooks_.deactivate(object))) {
      return call_deactivate(object);
    } else {
      try {
        return call_deactivate(object);
      } catch (...) {
        return false;
      }
    }
  }

  [[gnu::always_inline]] bool call_deactivate(T& object) {
    if constexpr (refusing_hooks<Hooks, T>) {
      return hooks_.deactivate(object);
    } else {
      hooks_.deactivate(object);
      return true;
    }
  }

  /// In the child of a fork that happens meanwhile the slot may be found, but its object never is.
  [[gnu::noinline]] void destroy(slot_index index, T* object) noexcept {
    held_[index] = false;
    // relaxed: a number for statistics
    created_.fetch_sub(1, std::memory_order_relaxed);
    if constexpr (names_destroy<Hooks>) {
      hooks_.destroy(*object);
    }
    object->~T();
  }

  [[no_unique_address]] Hooks hooks_;
  Array<bool> held_;
  bool eager_ = false;
  // Apart from the pointer above, which every operation reads.
  alignas(no_false_sharing) shared_atomic<std::size_t> created_{0};
};

}  // namespace lido::detail
