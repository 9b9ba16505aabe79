/// @file
/// Internal. The part of a `slot_map` that decides when its array grows, shrinks and closes holes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/exceptions_agree.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/memory_source.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/callbacks.hpp"
#include "lido/slot_map/options.hpp"
#include "lido/slot_map/slot_handle.hpp"
#include "lido/slot_map/slot_table.hpp"
#include "lido/slot_map/value_store.hpp"

namespace lido::inline v0::detail {

/// Applies the options of a slot map to its store, and calls the hooks. The base class of
/// `slot_map`, which adds the functions for users.
template <class T, class Hooks>
class slot_map_core {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                "lido: a slot map holds objects: no references, arrays or const types");

 protected:
  using handle_type = slot_handle<T>;
  static constexpr auto last_generation = static_cast<std::uint32_t>((std::min)(
      std::uint64_t{detail::last_table_generation}, detail::last_generation_with<Hooks>));
  using store = detail::value_store<T, last_generation>;

  [[LIDO_ASSERTS]] slot_map_core(const slot_map_options& options, Hooks hooks)
      : hooks_(std::move(hooks)),
        name_(options.name),
        options_(checked(options)),
        limit_(options_.max_size),
        store_({options.huge_pages ? page_kind::large : page_kind::normal, options.memory}) {
    (void)fitting_map<T, Hooks>();
    reserve(options_.reserve);
  }
  [[LIDO_ASSERTS]] slot_map_core(slot_map_core&& other) noexcept(
      std::is_nothrow_move_constructible_v<Hooks>)
      : hooks_(std::move(other.hooks_)),
        name_(std::move(other.name_)),
        options_(other.options_),
        limit_(std::exchange(other.limit_, options_.max_size)),
        least_capacity_(std::exchange(other.least_capacity_, reserved())),
        store_(std::move(other.store_)) {
    LIDO_ASSERT(other.may_move(), "a move of a slot map during a walk, or in a constructor of T");
  }
  [[LIDO_ASSERTS]] slot_map_core(const slot_map_core& other)
      : hooks_(other.hooks_),
        name_(other.name_),
        options_(other.options_),
        limit_(other.limit_),
        least_capacity_(other.least_capacity_),
        store_(other.store_) {
    store_.reserve_slots(least_capacity_);
  }
  [[LIDO_ASSERTS]] slot_map_core& operator=(slot_map_core&& other) noexcept(
      std::is_nothrow_move_constructible_v<Hooks>&& std::is_nothrow_swappable_v<Hooks>) {
    slot_map_core taken(std::move(other));
    swap_content(taken);
    return *this;
  }
  [[LIDO_ASSERTS]] slot_map_core& operator=(const slot_map_core& other) {
    if (this != &other) {
      slot_map_core copy(other);
      swap_content(copy);
    }
    return *this;
  }
  [[LIDO_ASSERTS]] ~slot_map_core() = default;

  [[LIDO_ASSERTS]] void swap_content(slot_map_core& other) noexcept(
      std::is_nothrow_swappable_v<Hooks>) {
    LIDO_ASSERT(may_move() && other.may_move(),
                "a swap or an assignment of a slot map during a walk, or in a constructor of T");
    static_assert(std::is_swappable_v<Hooks>,
                  "lido: a swap or an assignment of slot maps swaps their Hooks");
    if constexpr (!std::is_empty_v<Hooks>) {
      using std::swap;
      swap(hooks_, other.hooks_);  // first: if it throws, nothing has changed
    }
    name_.swap(other.name_);
    std::swap(options_, other.options_);
    std::swap(limit_, other.limit_);
    std::swap(least_capacity_, other.least_capacity_);
    store_.swap(other.store_);
  }

  /// Returns the first problem that can be found without allocating memory.
  [[nodiscard]] static option_problem find_problem(const slot_map_options& options) noexcept {
    if (option_problem found = find_problem_of(options)) {
      return found;
    }
    const auto count = static_cast<std::uint32_t>(options.reserve);
    if (value_array<T>::overflows(count)) {
      return {option_problem::kind::size, {"the size of all values overflows"}};
    }
    return too_little_memory(options.memory, memory_needed(options));
  }

  /// Returns what the constructor allocates.
  [[nodiscard]] static memory_cursor memory_needed(const slot_map_options& options) noexcept {
    memory_cursor all;
    if (options.reserve != 0) {
      store::take_memory(all, static_cast<std::uint32_t>(options.reserve));
    }
    return all;
  }

  /// Returns `options` without the name. Throws if there is a problem, before any memory is
  /// allocated.
  [[nodiscard]] static slot_map_options checked(slot_map_options options) {
    throw_if(find_problem(options), options.name);
    options.name = {};
    return options;
  }

  [[nodiscard]] T& value_at(std::uint32_t index) const noexcept { return store_.values()[index]; }
  [[nodiscard]] handle_type handle_at(std::uint32_t index) const noexcept {
    return handle_type::from_bits(store_.handle_at(index));
  }

  // What slot_map_iterator needs.
  [[nodiscard]] std::uint32_t end_index() const noexcept { return store_.end(); }
  [[nodiscard]] std::uint32_t next_value(std::uint32_t index) const noexcept {
    return store_.next_value(index);
  }
  [[nodiscard]] bool is_value(std::uint32_t index) const noexcept { return store_.is_value(index); }

  /// Returns true if values may move, that is, if neither a walk nor a constructor of T is running.
  [[nodiscard]] bool may_move() const noexcept { return walks_ == 0 && !store_.is_open(); }
  [[LIDO_ASSERTS]] void close_holes_before_walk() {
    if (options_.compaction == compaction_mode::deferred && may_move()) {
      compact();
    }
  }

  // slot_map documents the next three functions, which it makes public.
  [[LIDO_ASSERTS]] void compact() {
    if (!may_move()) {
      compact_later_ = walks_ != 0;
      return;
    }
    if (store_.holes() != 0) {
      store_.close_holes([this](std::uint32_t index) noexcept { announce_move(index); });
    }
    shrink_if_sparse();
  }

  [[LIDO_ASSERTS]] void reserve(std::size_t count) {
    const std::size_t wanted = (std::min)(count, options_.max_size);
    if (wanted > max_capacity) {
      throw_invalid_option(name_, "no room for " + std::to_string(count) + " values");
    }
    store_.reserve_slots(wanted);
    if (wanted > store_.capacity()) {
      store_.relocate(static_cast<std::uint32_t>(wanted), name_);
      announce_moves(store_.end());
    }
    least_capacity_ = (std::max)(least_capacity_, static_cast<std::uint32_t>(wanted));
  }

  [[LIDO_ASSERTS]] void shrink_to_fit() {
    refuse_option_if(options_.memory != nullptr && !options_.memory->can_grow(), name_,
                     {"shrink_to_fit of a map in memory that cannot be reused"});
    compact();
    if (may_move()) {
      least_capacity_ = reserved();
      store_.shrink_table(reserved());
      shrink_capacity_to((std::max)(store_.end(), reserved()));
    }
  }

  template <class... Args>
  [[LIDO_ASSERTS]] handle_type add(Args&&... args) {
    if (store_.has_room()) [[likely]] {
      return announce_insert(store_.emplace(std::forward<Args>(args)...));
    }
    return grow_and_add(std::forward<Args>(args)...);
  }
  [[nodiscard]] std::uint32_t reserved() const noexcept {
    return static_cast<std::uint32_t>(options_.reserve);
  }
  [[nodiscard]] std::size_t most() const noexcept {
    return std::min<std::size_t>(options_.max_size, max_capacity);
  }
  /// Computes `limit_`. Must be called whenever the number of reserved handles has changed.
  void count_reserved() noexcept { limit_ = options_.max_size - store_.reserved(); }
  /// Returns the number of values that may be added beside those under reserved handles.
  [[nodiscard]] std::size_t places_left() const noexcept {
    return most() - store_.reserved() - store_.taken();
  }
  /// Returns the capacity to which the array grows for `count` more values.
  [[nodiscard]] std::uint32_t larger_capacity(std::size_t count) const noexcept {
    const std::size_t more =
        (std::max)({store_.capacity() * std::size_t{2}, store_.taken() + count, first_capacity});
    return static_cast<std::uint32_t>((std::min)(more, most()));
  }

  /// Makes room for `count` more values. Returns false if that would exceed `max_size()`.
  [[LIDO_ASSERTS]] bool has_or_makes_room(std::size_t count) {
    if (count > places_left()) {
      return false;
    }
    grow_for(count);
    return true;
  }
  /// Grows the array if it has no room for `count` more values.
  [[LIDO_ASSERTS]] void grow_for(std::size_t count) {
    if (store_.taken() + count > store_.capacity()) {
      store_.relocate(larger_capacity(count), name_);
      announce_moves(store_.end());
    }
  }
  [[LIDO_ASSERTS]] void make_room(std::size_t count) {
    if (!has_or_makes_room(count)) {
      throw_pool_exhausted(name_, most(), store_.size());
    }
  }

  // Not inlined, so that the function that calls it on the fast path can be inlined.
  template <class... Args>
  [[LIDO_SLOW_PATH, LIDO_ASSERTS]] handle_type grow_and_add(Args&&... args) {
    if (places_left() == 0) {
      return handle_type();
    }
    typename store::larger_block larger(store_, larger_capacity(1), std::forward<Args>(args)...);
    const std::uint32_t moved = store_.end();
    if (const std::uint64_t made = store_.take_over(larger); made != 0) {
      announce_moves(moved);
      return announce_insert(made);
    }
    // T's constructor has changed the map, so the map has not taken over `larger`.
    return has_or_makes_room(1) ? announce_insert(store_.emplace(std::move(larger.value())))
                                : handle_type();
  }
  [[LIDO_ASSERTS]] void exchange(std::uint32_t one, std::uint32_t other) noexcept {
    if (one != other) {
      store_.swap(one, other);
      announce_move(one);
      announce_move(other);
    }
  }
  [[LIDO_ASSERTS]] void fill_erased(std::uint32_t index, std::uint64_t handle) noexcept {
    if (store_.erase_and_fill(index, handle)) {
      announce_move(index);
      shrink_if_sparse();
    } else {
      settle();
    }
  }
  [[LIDO_ASSERTS]] void erase_announced(std::uint32_t index, std::uint64_t handle) noexcept {
    if constexpr (std::is_nothrow_move_constructible_v<T>) {
      if (options_.compaction == compaction_mode::immediate && may_move()) {
        fill_erased(index, handle);
        return;
      }
    }
    store_.erase(index, handle);
    settle();
  }

  /// Closes holes if the mode is immediate, or if compact() was postponed to the end of a walk.
  [[LIDO_ASSERTS]] void settle() noexcept {
    if (!may_move() || (options_.compaction != compaction_mode::immediate && !compact_later_)) {
      return;
    }
    compact_later_ = false;
    attempt([this] { compact(); }, [] {});  // if it throws, a later call closes the rest
  }

  // Saving memory is not worth half-moved values: if a move may throw, only shrink_to_fit shrinks.
  [[LIDO_ASSERTS]] void shrink_if_sparse() noexcept {
    const std::size_t used = store_.end();
    if (std::is_nothrow_move_constructible_v<T> && store_.capacity() / 4 > used &&
        store_.capacity() - used > (std::max)(options_.shrink_threshold, first_capacity))
        [[unlikely]] {
      const std::size_t capacity = std::max<std::size_t>(2 * used, least_capacity_);
      // If there is no memory for a smaller array, the present one stays.
      attempt([&] { shrink_capacity_to(static_cast<std::uint32_t>(capacity)); }, [] {});
    }
  }
  [[LIDO_ASSERTS]] void shrink_capacity_to(std::uint32_t capacity) {
    if (capacity < store_.capacity()) {
      store_.relocate(capacity, name_);
      announce_moves(store_.end());
    }
  }

  /// Calls on_insert for the value with the handle `made`. If on_insert throws, erases the value.
  handle_type announce_insert(std::uint64_t made) {
    const auto handle = handle_type::from_bits(made);
    if constexpr (names_on_insert<Hooks>) {
      const std::uint32_t index = store_.find(made);
      scope_exit take_back([&]() noexcept {
        store_.erase(index, made);
        settle();
      });
      hooks_.on_insert(value_at(index), handle);
      take_back.dismiss();
    }
    return handle;
  }
  void announce_erase([[maybe_unused]] std::uint32_t index) noexcept {
    if constexpr (names_on_erase<Hooks>) {
      hooks_.on_erase(value_at(index), handle_at(index));
    }
  }
  void announce_move([[maybe_unused]] std::uint32_t index) noexcept {
    if constexpr (names_on_move<Hooks>) {
      hooks_.on_move(value_at(index), handle_at(index));
    }
  }
  /// Calls on_move for all values at indices below `end`.
  void announce_moves(std::uint32_t end) noexcept {
    if constexpr (names_on_move<Hooks>) {
      for (std::uint32_t p = store_.next_value(0); p < end; p = store_.next_value(p + 1)) {
        announce_move(p);
      }
    }
  }

  [[LIDO_NO_UNIQUE_ADDRESS]] Hooks hooks_;  ///< moved first: if that throws, `other` is unchanged
  std::string name_;
  slot_map_options options_;          ///< the `name` in it is empty; see `name_`
  std::size_t limit_;                 ///< `options_.max_size` less the number of reserved handles
  std::uint32_t least_capacity_ = 0;  ///< capacity that the array keeps until shrink_to_fit
  bool compact_later_ = false;
  std::uint32_t walks_ = 0;  ///< number of nested walks
  store store_;
};

}  // namespace lido::inline v0::detail
