/// @file
/// Public. `slot_map<T>`: values side by side in memory, reached by handles that never dangle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/base/assert.hpp"
#include "lido/base/error.hpp"
#include "lido/base/exceptions_agree.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/no_hooks.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/object/construction.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/callbacks.hpp"
#include "lido/slot_map/options.hpp"
#include "lido/slot_map/slot_handle.hpp"
#include "lido/slot_map/slot_map_core.hpp"
#include "lido/slot_map/slot_map_iterator.hpp"
#include "lido/slot_map/slot_table.hpp"
#include "lido/slot_map/snapshot.hpp"
#include "lido/slot_map/value_aside.hpp"
#include "lido/slot_map/walk.hpp"

namespace lido::inline v0 {

/// Stores values in one array, in no particular order, for access by handle. Insert, erase and find
/// take constant time, except for an insert that grows the array. A walk is as fast as a loop over
/// an array. A value moves when the array grows or shrinks, and when a hole is closed. A handle is
/// valid until its value is erased. After that, the handle is stale, unless `restore` or
/// `emplace_at` makes it valid again.
///
/// T must be movable. An insert that throws has no effect, unless the array grows. If on_insert
/// throws after the array has grown, the values have moved. If T has no copy constructor and moving
/// a T throws while the array grows, some values remain moved-from.
///
/// Thread safety is that of std::vector: several threads may call const functions at the same time.
/// T's constructors and destructor may insert, erase, find and walk. While one of them runs, its
/// own value is not in the map, and no hole is closed. Neither T's move constructor nor the
/// destructor of a moved-from T may use the map.
///
/// Hooks is a class that has at least one of these functions, each with the parameters `T&` and
/// `slot_handle<T>`:
///
/// - `on_insert` is called once a value has been made.
/// - `on_erase` is called before a value is destroyed, and must be noexcept.
/// - `on_move` is called once a value has another address, and must be noexcept.
///
/// A hook must not change the map.
template <class T, class Hooks = no_hooks>
class slot_map : private detail::slot_map_core<T, Hooks> {
  using core = detail::slot_map_core<T, Hooks>;

 public:
  using value_type = T;
  /// Type of the options.
  using options_type = slot_map_options;
  /// Type of the handles.
  using handle_type = slot_handle<T>;
  using iterator = slot_map_iterator<slot_map>;
  using const_iterator = slot_map_iterator<const slot_map>;
  /// Type of the pointers that look up their value at each use.
  using pointer_type = slot_pointer<slot_map>;
  /// Type of the snapshot of a const map.
  using const_snapshot =
      slot_map_snapshot<T, slot_map_values<const_iterator>, std::vector<std::uint64_t>>;

  /// Makes an empty map. Throws std::invalid_argument if max_size is 0 or less than reserve, or if
  /// reserve is more than 2^32 - 2. Also throws std::bad_alloc and std::bad_array_new_length.
  [[LIDO_ASSERTS]] explicit slot_map(const slot_map_options& options = {}, Hooks hooks = Hooks())
      : core(options, std::move(hooks)) {
    static_assert(std::is_move_constructible_v<T>,
                  "lido: slot_map moves its values; concurrent_slot_map does not");
  }

  /// Moves the values; their handles now refer to this map. `other` is then empty and keeps its
  /// options; its name and hooks are moved-from. Earlier pointers and iterators must not be used
  /// with it. If `other` is refilled, earlier handles stay stale there, because its new slots begin
  /// after the highest generation that any of its slots has given. So its slots are used up sooner.
  /// If a slot of `other` was used up, every insert into it throws std::length_error. Assigning a
  /// new map to `other` makes all generations available again. Inserts into `other` allocate
  /// memory, despite `reserve`. Takes time linear in the slots of the table, about 0.3 ns each. If
  /// moving Hooks throws, there is no effect. Requires: no walk of `other` is running, and no
  /// constructor of T calls this.
  [[LIDO_ASSERTS]] slot_map(slot_map&& other) noexcept(
      std::is_nothrow_move_constructible_v<Hooks>) = default;
  /// Replaces the content, options, name and hooks by those of `other`, as the constructor above
  /// takes them. Destroys the old values without calling hooks. Earlier handles of this map must no
  /// longer be used with it, since a handle of `other` may equal one of them. If moving or swapping
  /// Hooks throws, no value has moved. Requires: no walk of either map is running, and no
  /// constructor of T calls this.
  [[LIDO_ASSERTS]] slot_map& operator=(slot_map&& other) noexcept(
      std::is_nothrow_move_constructible_v<Hooks>&& std::is_nothrow_swappable_v<Hooks>) = default;
  /// Copies the values; handles of `other` refer to the copies, too. Copies Hooks without calling
  /// them. Throws whatever copying throws, and std::bad_alloc. Like that of std::vector, this
  /// constructor is declared for every T.
  [[LIDO_ASSERTS]] slot_map(const slot_map& other) : core(other) {
    static_assert(std::is_copy_constructible_v<T>,
                  "lido: a copy of a slot_map copies its values, and this T cannot be copied");
  }
  /// Replaces everything by copies, as the constructor above makes them. If it throws, it has had
  /// no effect. Otherwise behaves as the other assignment does.
  // NOLINTNEXTLINE(cert-oop54-cpp): the base class checks for self-assignment
  [[LIDO_ASSERTS]] slot_map& operator=(const slot_map& other) {
    static_assert(std::is_copy_constructible_v<T>,
                  "lido: a copy of a slot_map copies its values, and this T cannot be copied");
    core::operator=(other);
    return *this;
  }
  [[LIDO_ASSERTS]] ~slot_map() = default;

  /// Constructs a value from `args` as `object_pool::acquire` does, and returns its handle. Throws
  /// pool_exhausted if values and reserved handles already number `max_size()`. Also throws
  /// whatever T's constructor, a hook or an allocation throws.
  template <class... Args>
  [[LIDO_ASSERTS]] handle_type emplace(Args&&... args) {
    const handle_type made = try_emplace(std::forward<Args>(args)...);
    if (!made) [[unlikely]] {
      detail::throw_pool_exhausted(name_, most(), size());
    }
    return made;
  }
  /// Adds a copy of `value`, or moves `value` into the map, as emplace does. An exception does not
  /// undo what T's move constructor has done to `value`.
  [[LIDO_ASSERTS]] handle_type insert(const T& value) { return emplace(value); }
  [[LIDO_ASSERTS]] handle_type insert(T&& value) { return emplace(std::move(value)); }
  /// Adds a value as emplace does, but returns the null handle if the map is full.
  template <class... Args>
  [[nodiscard, LIDO_ASSERTS]] handle_type try_emplace(Args&&... args) {
    return store_.taken() < limit_ ? add(std::forward<Args>(args)...) : handle_type();
  }

  /// Adds the T that `f(handle)` returns, as emplace does. The T may store the handle, which is
  /// stale until the T is in the map. If the array grows, it does so before `f` is called.
  template <class F>
  [[LIDO_ASSERTS]] handle_type insert_with(F&& f) {
    make_room(1);
    return announce_insert(store_.emplace_by([&f](T* address, std::uint64_t handle) {
      ::new (static_cast<void*>(address))
          T(std::invoke(std::forward<F>(f), handle_type::from_bits(handle)));
    }));
  }

  /// Reserves the handle of a value that `emplace_at` will construct later. Until then, the handle
  /// is stale for all other functions, but `erase` gives it up. May be called during a walk.
  /// Returns the null handle if values and reserved handles already number `max_size()`. Throws
  /// std::bad_alloc, and std::length_error if no slot is left.
  [[nodiscard, LIDO_ASSERTS]] handle_type reserve_handle() {
    if (store_.taken() >= limit_) {
      return handle_type();
    }
    const std::uint64_t handle = store_.reserve_handle();
    count_reserved();
    return handle_type::from_bits(handle);
  }

  /// Adds a value under `handle`: a reserved one, one from another map, or the last one that its
  /// slot here has given. Returns false, without effect, during a walk and in constructors of T.
  /// Also returns false if the slot of `handle` has a value, has given a later handle, is used up,
  /// or lies beyond `max_size()`. Nor is a handle accepted that was reserved and then given up.
  /// Closes holes. Takes constant time on average, apart from that and from growth. Unless max_size
  /// limits the table, it may grow to 2^32 slots of 8 bytes each. If constructing or moving the
  /// value throws, a reserved handle stays reserved; if on_insert throws, it is stale.
  template <class... Args>
  [[nodiscard]] bool emplace_at(handle_type handle, Args&&... args) {
    if (!may_move() || !store_.can_emplace_as(handle.to_bits(), most())) {
      return false;
    }
    auto value = detail::make_aside<T>(std::forward<Args>(args)...);  // `args` may be in this array
    compact();
    store_.is_reserved(handle.to_bits()) ? grow_for(1) : make_room(1);
    if (!store_.emplace_as(handle.to_bits(), most(), std::move(*value))) {
      return false;
    }
    count_reserved();
    (void)announce_insert(handle.to_bits());
    return true;
  }

  /// Inserts each value of a range. Moves the values if the range's iterators yield rvalues, and
  /// copies them otherwise. Returns the handles in the order of the range. If the call throws, the
  /// map keeps none of the values. Throws std::invalid_argument if the range begins with a value of
  /// this map, and can be read more than once. Requires: the range contains no values of this map.
  template <class Range>
  [[LIDO_ASSERTS]] std::vector<handle_type> insert_range(Range&& values) {
    LIDO_ASSERT(!has_first_of(values), "insert_range of values that are in this slot map");
    detail::refuse_option_if(has_first_of(values), name_,
                             {"insert_range of values that are in this map"});
    std::vector<handle_type> made;
    if constexpr (requires { std::size(values); }) {
      made.reserve(std::size(values));
      make_room(std::size(values));
    }
    detail::scope_exit take_back([&]() noexcept {
      for (const handle_type handle : made) {
        erase(handle);
      }
    });
    for (auto&& value : values) {
      made.emplace_back();
      made.back() = emplace(std::forward<decltype(value)>(value));
    }
    take_back.dismiss();
    return made;
  }

  /// Adds a value as emplace does. If the map is full and has a value, the new value replaces the
  /// one that is least by `less(const T&, const T&)`. If on_insert throws, the replaced value is
  /// lost. After any other exception, the map is unchanged.
  template <class Less, class... Args>
  handle_type emplace_or_evict(Less less, Args&&... args) {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "lido: emplace_or_evict moves a value where another was, so that must not throw");
    if (store_.taken() < limit_) {
      return emplace(std::forward<Args>(args)...);
    }
    auto value = detail::make_aside<T>(std::forward<Args>(args)...);
    if (store_.taken() < limit_ || empty()) {  // T's constructor changed the map
      return emplace(std::move(*value));
    }
    const std::uint32_t index = store_.least(less);
    const std::uint64_t victim = store_.handle_at(index);
    store_.prepare_replacement(victim);
    announce_erase(index);
    store_.erase(index, victim);
    return emplace(std::move(*value));
  }

  /// Destroys the value, or gives up a reserved handle. Returns false if the handle is stale.
  /// Leaves a hole if a walk is running, if `compaction_mode` is not immediate, or if the move that
  /// would close the hole throws.
  [[LIDO_ASSERTS]] bool erase(handle_type handle) noexcept {
    const std::uint32_t index = store_.find(handle.to_bits());
    if (index == detail::null_slot) {
      return give_up(handle);
    }
    announce_erase(index);
    erase_announced(index, handle.to_bits());
    return true;
  }

  /// Erases the value and returns it. Returns an empty optional if the handle is stale.
  [[nodiscard, LIDO_ASSERTS]] std::optional<T> take(handle_type handle) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "lido: take moves a value out of the map, so that must not throw");
    std::optional<T> taken;
    const std::uint32_t index = store_.find(handle.to_bits());
    if (index != detail::null_slot) {
      announce_erase(index);
      taken.emplace(std::move(value_at(index)));
      erase_announced(index, handle.to_bits());
    }
    return taken;
  }

  /// Calls `f` as for_each does, and erases each value for which `f` returns true. Returns the
  /// number of erased values.
  template <class F>
  std::size_t erase_if(F f) {
    std::size_t erased = 0;
    for_each([&](T& value, handle_type handle) {
      if (!detail::call_visitor(*this, f, value, [handle] { return handle; })) {
        return step::next;
      }
      ++erased;
      return step::erase;
    });
    return erased;
  }

  /// Erases all values, so their handles become stale. Reserved handles stay reserved. During a
  /// walk, each value leaves a hole.
  [[LIDO_ASSERTS]] void clear() noexcept {
    if constexpr (std::is_trivially_destructible_v<T> && !detail::names_on_erase<Hooks>) {
      if (may_move() && store_.is_dense()) {
        store_.forget_all();
        settle();
        return;
      }
    }
    for (std::uint32_t p = store_.next_value(0); p < store_.end(); p = store_.next_value(p + 1)) {
      announce_erase(p);
      store_.erase(p, store_.handle_at(p));
    }
    if (may_move() && empty()) {
      store_.forget_holes();
    }
    settle();
  }

  /// Returns the value's address (valid until the map changes), or nullptr for a stale handle.
  [[nodiscard]] T* find(handle_type handle) noexcept {
    T* const values = store_.values();
    const std::uint32_t index = store_.find(handle.to_bits());
    return index != detail::null_slot ? values + index : nullptr;
  }
  [[nodiscard]] const T* find(handle_type handle) const noexcept {
    return const_cast<slot_map&>(*this).find(handle);  // NOLINT(*-const-cast): find changes nothing
  }
  /// Returns true if the handle is not stale.
  [[nodiscard]] bool contains(handle_type handle) const noexcept { return find(handle) != nullptr; }

  /// Returns the value. Requires: the handle is not stale.
  [[nodiscard, LIDO_ASSERTS]] T& operator[](handle_type handle) noexcept {
    T* const found = find(handle);
    LIDO_ASSERT(
        found != nullptr,
        ("operator[] of a slot map with a stale handle; the map is '" + name_ + "'").c_str());
    return *found;
  }
  [[nodiscard, LIDO_ASSERTS]] const T& operator[](handle_type handle) const noexcept {
    return const_cast<slot_map&>(*this)[handle];  // NOLINT(*-const-cast): it changes nothing
  }

  /// Returns the value. Throws std::out_of_range if the handle is stale.
  [[nodiscard]] T& at(handle_type handle) {
    T* const found = find(handle);
    if (found == nullptr) [[unlikely]] {
      detail::throw_error(std::out_of_range("lido: slot map '" + name_ + "': the handle is stale"));
    }
    return *found;
  }
  [[nodiscard]] const T& at(handle_type handle) const {
    return const_cast<slot_map&>(*this).at(handle);  // NOLINT(*-const-cast): at changes nothing
  }

  /// Returns an iterator to the value, or end() if the handle is stale.
  [[nodiscard]] iterator iterator_to(handle_type handle) noexcept {
    return {this, store_.find(handle.to_bits())};
  }
  [[nodiscard]] const_iterator iterator_to(handle_type handle) const noexcept {
    return {this, store_.find(handle.to_bits())};
  }

  /// Returns a pointer that looks up the value at each use. A move of the map invalidates it.
  [[nodiscard]] pointer_type pointer(handle_type handle) noexcept { return {*this, handle}; }
  /// Returns the handle of a value. Requires: `value` is in this map.
  [[nodiscard, LIDO_ASSERTS]] handle_type handle_of(const T& value) const noexcept {
    LIDO_ASSERT(store_.is_value(value), "handle_of a value that is not in this slot map");
    return handle_at(static_cast<std::uint32_t>(std::addressof(value) - store_.values()));
  }

  /// Calls `f(T&)`, `f(T&, handle)` or `f(T&, handle, slot_map&)` for each value in memory order.
  /// `step` lists what `f` may return. Returns true unless `f` stopped the walk.
  ///
  /// `f` may erase any value, insert values, and start a walk. No hole is closed until the
  /// outermost walk ends. A value that exists throughout the walk is visited once; a value inserted
  /// during the walk, at most once. An insert that grows the array moves all values, which
  /// invalidates the reference passed to `f`. With `compaction_mode` deferred, the walk first
  /// closes holes, and throws whatever a move throws. If `f` throws, the walk ends.
  template <class F>
  bool for_each(F&& f) {
    close_holes_before_walk();
    ++walks_;
    detail::scope_exit end_of_walk([this]() noexcept {
      --walks_;
      settle();
    });
    return detail::walk<T, slot_map, F>(*this, f, 0, store_.end()).run();
  }
  /// Walks as above, but passes `const T&` to `f` and closes no hole. `f` must not change the map.
  template <class F>
  bool for_each(F&& f) const {
    return detail::walk<const T, const slot_map, F>(*this, f, 0, store_.end()).run();
  }

  /// Walks as the first for_each does, but on the threads of `executor`, such as those of
  /// `lido::par` (lido/tbb.hpp). `f` cannot erase values. If `f` returns false, only the executor's
  /// current range ends. Requires: `f` calls only const functions of the map.
  template <parallel_executor Executor, class F>
  [[LIDO_ASSERTS]] void for_each(const Executor& executor, F f) {
    close_holes_before_walk();
    walk_on<T>(executor, f);
  }
  /// Walks as above, but passes `const T&` to `f`, and skips holes. Const functions may run at the
  /// same time.
  template <parallel_executor Executor, class F>
  [[LIDO_ASSERTS]] void for_each(const Executor& executor, F f) const {
    walk_on<const T>(executor, f);
  }

  [[nodiscard]] iterator begin() noexcept { return {this, store_.next_value(0)}; }
  [[nodiscard]] iterator end() noexcept { return {this, detail::null_slot}; }
  [[nodiscard]] const_iterator begin() const noexcept { return {this, store_.next_value(0)}; }
  [[nodiscard]] const_iterator end() const noexcept { return {this, detail::null_slot}; }

  /// Closes holes and returns all values as an array, valid until the map changes. Swapping values
  /// in the array, as std::sort does, makes handles refer to other values; use `sort` and `swap`
  /// instead. Throws whatever a move throws. Requires: neither a walk nor a constructor of a T in
  /// the map is running.
  [[nodiscard, LIDO_ASSERTS]] std::span<T> values() {
    LIDO_ASSERT(may_move(), "values() of a slot map during a walk of it, or in a constructor of T");
    compact();
    return {store_.values(), store_.end()};
  }

  /// Sorts the values by `less(const T&, const T&)`; each handle still refers to its value. Closes
  /// holes. The order of equal values is unspecified. If the call throws, the order is unchanged.
  /// Requires: as for `values`.
  template <class Less = std::less<>>
  [[LIDO_ASSERTS]] void sort(Less less = {}) {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "lido: sort moves values within the map, so that must not throw");
    const std::span<const T> all = values();
    std::vector<std::uint32_t> order(all.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) -> bool {
      return std::invoke(less, all[a], all[b]);
    });
    for (std::uint32_t first = 0; first < order.size(); ++first) {
      // Follows a cycle of indices from `first`: each value comes from the next index of the cycle.
      std::uint32_t index = first;
      while (order[index] != first) {
        const std::uint32_t from = std::exchange(order[index], index);
        exchange(index, from);
        index = from;
      }
      order[index] = index;
    }
  }

  /// Exchanges the positions of two values in memory; each handle still refers to its value.
  /// Returns false if a handle is stale. Requires: as for `values`.
  [[LIDO_ASSERTS]] bool swap(handle_type a, handle_type b) noexcept {
    LIDO_ASSERT(may_move(), "swap in a slot map during a walk of it, or in a constructor of T");
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "lido: swap moves values within the map, so that must not throw");
    const std::uint32_t one = store_.find(a.to_bits());
    const std::uint32_t other = store_.find(b.to_bits());
    if (one == detail::null_slot || other == detail::null_slot) {
      return false;
    }
    exchange(one, other);
    return true;
  }

  /// Exchanges everything with `other`, including options, name and hooks, in constant time. The
  /// handles of each map then belong to the other one. Requires: no walk of either map is running,
  /// and no constructor of T calls this.
  // NOLINTNEXTLINE(bugprone-exception-escape): it throws what swapping the hooks throws
  [[LIDO_ASSERTS]] void swap(slot_map& other) noexcept(std::is_nothrow_swappable_v<Hooks>) {
    core::swap_content(other);
  }
  // NOLINTNEXTLINE(bugprone-exception-escape): it throws what swapping the hooks throws
  [[LIDO_ASSERTS]] friend void swap(slot_map& a,
                                    slot_map& b) noexcept(std::is_nothrow_swappable_v<Hooks>) {
    a.swap(b);
  }

  /// Returns everything that `restore` needs, without copying it. Closes holes. Throws whatever
  /// `values` throws. Requires: as for `values`.
  [[nodiscard, LIDO_ASSERTS]] slot_map_snapshot<T> snapshot() {
    const std::span<T> all = values();
    const detail::table_image table = store_.image();
    return {slot_map_format, all, table.table, table.first_free, table.first_generation};
  }

  /// Returns everything that `restore` needs, and leaves holes open. Copies the table, but no
  /// values. May be called during a walk. Throws std::bad_alloc. Requires: no constructor or
  /// destructor of a T in the map is running.
  [[nodiscard, LIDO_ASSERTS]] const_snapshot snapshot() const {
    detail::table_copy closed = store_.table_without_holes();
    return {slot_map_format,
            {begin(), end(), size()},
            std::move(closed.table),
            closed.first_free,
            closed.first_generation};
  }

  /// Returns the reason for which `restore` would reject `from`, or no problem. Changes nothing,
  /// and never throws. Does not check whether there is memory for the values.
  [[nodiscard]] option_problem problem_with(const slot_map_snapshot<T>& from) const noexcept {
    return find_problem_with(from);
  }
  /// Returns the same for a snapshot of a const map, or for another range of values.
  template <class Values, class Table>
  [[nodiscard]] option_problem problem_with(
      const slot_map_snapshot<T, Values, Table>& from) const noexcept {
    return find_problem_with(from);
  }

  /// Restores the state that a map had when it made the snapshot: its values, their handles, and
  /// which handles come next. `from` may come from another map. Handles given after the snapshot
  /// are given again. Hooks are not called. Copies the values, or moves them if T cannot be copied.
  /// Throws std::invalid_argument if the snapshot has another format, is inconsistent, or has more
  /// than `max_size()` values and reserved handles. Also throws whatever making a T throws. A call
  /// that throws has no effect, except on values that it has moved. Requires: as for `values`.
  [[LIDO_ASSERTS]] void restore(const slot_map_snapshot<T>& from) { restore_from(from); }
  /// Restores the state from a snapshot of a const map, or from another range of values.
  template <class Values, class Table>
  [[LIDO_ASSERTS]] void restore(const slot_map_snapshot<T, Values, Table>& from) {
    restore_from(from);
  }

  /// Closes all holes, each by at most one move. If a move throws, the remaining holes stay. A call
  /// during a walk takes effect when the walk ends. A call in T's constructor or destructor has no
  /// effect unless a walk is running.
  using core::compact;

  /// Allocates memory for `count` values, or for `max_size()` if that is less, and keeps it until
  /// shrink_to_fit. Throws std::invalid_argument if that would be more than 2^32 - 2 values. Also
  /// throws std::bad_alloc and std::bad_array_new_length.
  using core::reserve;

  /// Closes holes, forgets earlier calls of `reserve()`, and shrinks first the table and then the
  /// array to what the values and the option `reserve` need. Throws std::invalid_argument if the
  /// map is in memory that cannot be reused. Also throws std::bad_alloc, and whatever a move
  /// throws. Finished steps then remain, and only a failed move can lose values (see the class).
  /// During a walk, only calls compact().
  using core::shrink_to_fit;

  /// Returns exactly how many bytes the constructor takes from `options.memory`, whose first byte
  /// must be aligned to a cache line and to `alignof(T)`. Later growth takes more, but there is
  /// none if `reserve` equals `max_size`. Requires: a map can be made with `options`, apart from
  /// how many bytes the source has.
  [[nodiscard]] static std::size_t bytes_needed(const slot_map_options& options) noexcept {
    return core::memory_needed(options).bytes();
  }

  [[nodiscard]] std::size_t size() const noexcept { return store_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Returns the largest number of values and reserved handles at a time.
  [[nodiscard]] std::size_t max_size() const noexcept { return options_.max_size; }
  /// Returns the number of values that memory is allocated for.
  [[nodiscard]] std::size_t capacity() const noexcept { return store_.capacity(); }
  /// Returns the number of holes, which walks skip.
  [[nodiscard]] std::size_t holes() const noexcept { return store_.holes(); }
  /// Returns the number of slots that are not used again because all their generations are used up.
  [[nodiscard]] std::size_t used_up_slots() const noexcept { return store_.used_up(); }
  /// Returns the bytes used beyond the values: 8 bytes and one bit per index, and 8 bytes per slot
  /// of the table. `emplace_at` may add 4 bytes per slot. Blocks of 2 MiB or more are rounded up to
  /// huge pages, by at most an eighth.
  [[nodiscard]] std::size_t bookkeeping_bytes() const noexcept {
    return store_.memory() - capacity() * sizeof(T);
  }
  /// Returns the name, valid until the map is moved or destroyed.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Returns the hooks.
  [[nodiscard]] Hooks& hooks() noexcept { return hooks_; }
  /// Returns the hooks.
  [[nodiscard]] const Hooks& hooks() const noexcept { return hooks_; }

 private:
  friend detail::pool_maker;
  friend iterator;
  friend const_iterator;
  template <class, class, class>
  friend class detail::walk;

  template <class Value, class Executor, class F>
  [[LIDO_ASSERTS]] void walk_on(const Executor& executor, F& f) const {
    const std::uint32_t count = store_.end();
    [[maybe_unused]] const auto seen = std::pair(store_.version(), size());
    executor(count, [&](std::uint32_t first, std::uint32_t last) {
      LIDO_ASSERT(first <= last && last <= count, "a range of an executor beyond the count");
      (void)detail::walk<Value, const slot_map, F>(*this, f, first, last).run();
    });
    LIDO_ASSERT(seen == std::pair(store_.version(), size()),
                "a callback of a parallel walk changed the slot map");
  }

  template <class Snapshot>
  [[nodiscard]] option_problem find_problem_with(const Snapshot& from) const noexcept {
    constexpr auto wrong = option_problem::kind::option;
    if (option_problem found = detail::problem_with_format(from.format, slot_map_format)) {
      return found;
    }
    const detail::table_image table{from.table, from.first_free, from.first_generation};
    if (from.values.size() + table.reserved() > most()) {
      return {wrong, {"the snapshot to restore has too many values"}};
    }
    if (!store_.can_restore(table, from.values.size(), options_.memory == nullptr)) {
      return {wrong, {"the snapshot to restore is not consistent"}};
    }
    return {};
  }

  template <class Snapshot>
  [[LIDO_ASSERTS]] void restore_from(const Snapshot& from) {
    LIDO_ASSERT(may_move(), "restore of a slot map during a walk of it, or in a constructor of T");
    detail::throw_if(find_problem_with(from), name_);
    store_.restore(from.values, {from.table, from.first_free, from.first_generation},
                   (std::max)(static_cast<std::uint32_t>(from.values.size()), least_capacity_));
    count_reserved();
  }

  /// Returns true if the first value of `values` is in this map. Returns false if `values` can be
  /// read only once, or makes its values.
  template <class Range>
  [[nodiscard, LIDO_ASSERTS]] bool has_first_of(Range& values) const {
    if constexpr (detail::refers_to<Range, T>) {
      const auto first = std::begin(values);
      return first != std::end(values) && store_.is_value(*first);
    } else {
      return false;
    }
  }

  /// Gives up a reserved handle. Returns false if the handle is not reserved.
  [[LIDO_SLOW_PATH]] bool give_up(handle_type handle) noexcept {
    const bool given_up = store_.give_up_reserved(handle.to_bits());
    count_reserved();
    return given_up;
  }

  using core::add;
  using core::announce_erase;
  using core::announce_insert;
  using core::close_holes_before_walk;
  using core::count_reserved;
  using core::end_index;
  using core::erase_announced;
  using core::exchange;
  using core::grow_for;
  using core::handle_at;
  using core::has_or_makes_room;
  using core::hooks_;
  using core::is_value;
  using core::least_capacity_;
  using core::limit_;
  using core::make_room;
  using core::may_move;
  using core::most;
  using core::name_;
  using core::next_value;
  using core::options_;
  using core::settle;
  using core::store_;
  using core::value_at;
  using core::walks_;
};

}  // namespace lido::inline v0
