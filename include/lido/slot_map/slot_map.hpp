/// @file
/// Public. `slot_map<T>`: values side by side in memory, reached by handles that never lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/base/exceptions_agree.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/no_hooks.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/object/construction.hpp"
#include "lido/slot_map/callbacks.hpp"
#include "lido/slot_map/slot_handle.hpp"
#include "lido/slot_map/slot_table.hpp"
#include "lido/slot_map/value_store.hpp"
#include "lido/slot_map/walk.hpp"

namespace lido {

/// When a slot map closes the holes that erased values leave, by moving values from the end there.
enum class compaction_mode : std::uint8_t {
  /// In each erase, by one move. There are holes only during walks, which close theirs at their
  /// end, and after a move that threw. An erase that makes the map sparse moves all values (see
  /// shrink_threshold).
  immediate,
  deferred,  ///< when the next walk begins, as far as values inserted meanwhile left any open
  manual     ///< in `compact()` and `shrink_to_fit()` only; walks step over holes
};

/// No limit, as far as indices reach: 2^32 - 2 values.
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// Options of a `slot_map`. Use designated initialisers: `{.max_size = 200'000, .name = "sparks"}`.
struct slot_map_options {
  /// Most values at once, 1 or more.
  std::size_t max_size = unlimited;

  /// Room from the start, and always: the map never gives this much back. With `reserve` equal to
  /// `max_size`, all memory is allocated at the start, places and table apart. As long as no slot
  /// is used up, only `shrink_to_fit` allocates then: another table.
  std::size_t reserve = 0;

  /// The map gives memory back when it closes holes, which mode immediate does at each erase. More
  /// than this many places must be free then and fewer than a quarter used; half of what stays is
  /// free. After a `clear` or erases at the end, which leave no holes, the next compaction does it.
  /// Where moving a T may throw, only `shrink_to_fit` does. `unlimited`: never by itself.
  std::size_t shrink_threshold = 1024;

  compaction_mode compaction = compaction_mode::deferred;

  /// Copied; appears in errors.
  std::string_view name = "unnamed";
};

namespace detail {

/// What a map gets that grows from nothing, and keeps, so that one that alternates between no value
/// and one does not allocate each time.
inline constexpr std::size_t first_capacity = 16;

/// Most values that there can be. Refuses wrong options before any memory is allocated.
inline std::size_t checked_size(const slot_map_options& options) {
  if (options.max_size == 0) {
    throw_invalid_option(options.name, "max_size is 0");
  }
  const std::size_t most = std::min<std::size_t>(options.max_size, max_capacity);
  if (options.reserve > most) {
    throw_invalid_option(options.name, "reserve " + std::to_string(options.reserve) +
                                           " is more than the " + std::to_string(most) +
                                           " values that there can be");
  }
  return options.max_size;
}

}  // namespace detail

/// Goes over the values of a `slot_map` in the order of memory, steps over holes and closes none.
/// Every call that changes the map makes its iterators invalid, except for an erase of another
/// value while `compaction_mode` is not immediate; `end()` stays valid then, too.
template <class Map>
class slot_map_iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename std::remove_const_t<Map>::value_type;
  using difference_type = std::ptrdiff_t;
  using reference = std::conditional_t<std::is_const_v<Map>, const value_type&, value_type&>;
  using pointer = std::remove_reference_t<reference>*;

  slot_map_iterator() noexcept = default;
  slot_map_iterator(Map* map, std::uint32_t place) noexcept : map_(map), place_(known(place)) {}

  // NOLINTNEXTLINE(google-explicit-constructor): that is what it is for
  explicit(false) operator slot_map_iterator<const Map>() const noexcept
      requires(!std::is_const_v<Map>) {
    slot_map_iterator<const Map> same;
    same.map_ = map_;
    same.place_ = place_;
    return same;
  }

  [[nodiscard]] reference operator*() const noexcept { return map_->value_at(place_); }
  [[nodiscard]] pointer operator->() const noexcept {
    return std::addressof(map_->value_at(place_));
  }

  [[nodiscard]] typename std::remove_const_t<Map>::handle_type handle() const noexcept {
    return map_->handle_at(place_);
  }

  slot_map_iterator& operator++() noexcept {
    place_ = known(map_->store_.next_value(place_ + 1));
    return *this;
  }
  slot_map_iterator operator++(int) noexcept {
    const slot_map_iterator before = *this;
    ++*this;
    return before;
  }

  friend bool operator==(const slot_map_iterator&, const slot_map_iterator&) noexcept = default;

 private:
  template <class>
  friend class slot_map_iterator;

  /// The end is the same place whatever is erased meanwhile.
  [[nodiscard]] std::uint32_t known(std::uint32_t place) const noexcept {
    return place < map_->store_.end() ? place : detail::null_slot;
  }

  Map* map_ = nullptr;
  std::uint32_t place_ = 0;
};

/// Values in one array, without order. Insert, erase and find take constant time, except an insert
/// that grows the array; a walk is as fast as one over an array. A value moves when the array grows
/// or shrinks and when a hole is closed. Its handle is valid until it is erased, and is refused for
/// ever after.
///
/// T must be movable. An insert that throws has no effect, unless the array grows. If on_insert
/// throws then, the values have moved. If a move of a T without a copy constructor throws then,
/// some values are moved from.
///
/// For one thread at a time, as std::vector: several may call const functions beside one another.
/// T's own functions must not use the map; hooks: see callbacks.hpp.
template <class T, class Hooks = no_hooks,
          std::uint32_t LastGeneration = detail::last_table_generation>
class slot_map {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                "lido: a slot map holds objects: no references, arrays or const types");

 public:
  using value_type = T;
  using handle_type = slot_handle<T>;
  using iterator = slot_map_iterator<slot_map>;
  using const_iterator = slot_map_iterator<const slot_map>;
  using pointer_type = slot_pointer<slot_map>;

  /// Throws std::invalid_argument (max_size 0, or less than reserve; reserve above 2^32 - 2),
  /// std::bad_alloc, std::bad_array_new_length.
  explicit slot_map(const slot_map_options& options = {}, Hooks hooks = Hooks())
      : hooks_(std::move(hooks)),
        name_(options.name),
        max_size_(detail::checked_size(options)),
        reserve_(static_cast<std::uint32_t>(options.reserve)),
        shrink_threshold_(options.shrink_threshold),
        mode_(options.compaction) {
    static_assert(std::is_move_constructible_v<T>,
                  "lido: slot_map moves its values; concurrent_slot_map does not");
    (void)detail::fitting_map<T, Hooks>();
    reserve(reserve_);
  }

  /// Handles lead into the map that now has the values. `other` begins anew, with its numbers and
  /// mode; its name and hooks are moved from. Nothing that led into it may be used when it is
  /// filled again. Inserts make room there, not `reserve`. If moving Hooks throws, nothing has
  /// happened. Requires: no walk in it. No assignment: handles might lead to what is in a map.
  slot_map(slot_map&& other) noexcept(std::is_nothrow_move_constructible_v<Hooks>)
      : hooks_(std::move(other.hooks_)),
        name_(std::move(other.name_)),
        max_size_(other.max_size_),
        reserve_(other.reserve_),
        kept_(std::exchange(other.kept_, other.reserve_)),
        shrink_threshold_(other.shrink_threshold_),
        mode_(other.mode_),
        store_(std::move(other.store_)) {}
  slot_map& operator=(slot_map&&) = delete;
  slot_map(const slot_map&) = delete;
  slot_map& operator=(const slot_map&) = delete;
  ~slot_map() = default;

  /// Constructs a value from `args`, as `object_pool::acquire` does. Throws pool_exhausted when
  /// there are `max_size()` already, and what T's constructor, a hook and the allocator throw.
  template <class... Args>
  handle_type emplace(Args&&... args) {
    if (size() >= max_size_) [[unlikely]] {
      detail::throw_pool_exhausted(name_, max_size_, size());
    }
    return add(std::forward<Args>(args)...);
  }
  /// As emplace, of a value that is moved in. If that throws, the value is gone.
  handle_type insert(T value) { return emplace(std::move(value)); }

  /// As emplace; the null handle when there are `max_size()` already.
  template <class... Args>
  [[nodiscard]] handle_type try_emplace(Args&&... args) {
    return size() < max_size_ ? add(std::forward<Args>(args)...) : handle_type();
  }

  /// As emplace; when there are `max_size()` already, replaces the value that no other comes before
  /// by `less(const T&, const T&)`. Looks at all values then. If on_insert throws, the old value is
  /// gone; any other exception has no effect.
  template <class Less, class... Args>
  handle_type emplace_or_evict(Less less, Args&&... args) {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "lido: emplace_or_evict moves a value where another was, so that must not throw");
    if (size() < max_size_) {
      return add(std::forward<Args>(args)...);
    }
    T value = detail::make_value<T>(std::forward<Args>(args)...);
    const std::uint32_t place = store_.least(less);
    const std::uint64_t victim = store_.handle_at(place);
    store_.prepare_replacement(victim);
    announce_erase(place);
    store_.erase(place, victim);
    return announce_insert(store_.emplace(std::move(value)));
  }

  /// Destroys the value; false when the handle is stale. Leaves a hole during a walk, in a
  /// `compaction_mode` other than immediate, and when a move that closes it throws.
  bool erase(handle_type handle) noexcept {
    const std::uint32_t place = store_.find(handle.to_bits());
    if (place == detail::null_slot) {
      return false;
    }
    announce_erase(place);
    if (!erase_and_fill(place, handle.to_bits())) {
      store_.erase(place, handle.to_bits());
      settle();
    }
    return true;
  }

  /// Erases all values: no handle of one is good afterwards. During a walk they leave holes.
  void clear() noexcept {
    for (std::uint32_t p = store_.next_value(0); p < store_.end(); p = store_.next_value(p + 1)) {
      announce_erase(p);
      store_.erase(p, store_.handle_at(p));
    }
    if (walks_ == 0) {
      store_.forget_holes();
    }
    settle();
  }

  /// The value; nullptr when the handle is stale. Valid until the map changes.
  [[nodiscard]] T* find(handle_type handle) noexcept {
    T* const values = store_.values();
    const std::uint32_t place = store_.find(handle.to_bits());
    return place != detail::null_slot ? values + place : nullptr;
  }
  [[nodiscard]] const T* find(handle_type handle) const noexcept {
    return const_cast<slot_map&>(*this).find(handle);  // NOLINT(*-const-cast): find changes nothing
  }
  [[nodiscard]] bool contains(handle_type handle) const noexcept { return find(handle) != nullptr; }

  /// Requires: the handle is not stale.
  [[nodiscard]] T& operator[](handle_type handle) noexcept { return *find(handle); }
  [[nodiscard]] const T& operator[](handle_type handle) const noexcept { return *find(handle); }

  /// Finds the value anew with each use. Does not follow when the map is moved.
  [[nodiscard]] pointer_type pointer(handle_type handle) noexcept { return {*this, handle}; }

  /// Requires: `value` is in this map.
  [[nodiscard]] handle_type handle_of(const T& value) const noexcept {
    return handle_at(static_cast<std::uint32_t>(std::addressof(value) - store_.values()));
  }

  /// Calls `f(T&)`, `f(T&, handle)` or `f(T&, handle, slot_map&)` for each value in the order of
  /// memory; what f may return says `step`. True: the walk came to its end.
  ///
  /// f may erase any value, insert, and walk itself; no hole is closed until the outermost walk
  /// ends. A value that is there from begin to end is visited once; one that is inserted meanwhile,
  /// not or once. An insert that finds no room moves all values, so f's own reference is invalid
  /// afterwards. With `compaction_mode` deferred, a walk closes holes first, and throws what moving
  /// throws. If f throws, the walk ends.
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

  /// As above with `const T&`; f does not change the map. Steps over holes.
  template <class F>
  bool for_each(F&& f) const {
    return detail::walk<const T, const slot_map, F>(*this, f, 0, store_.end()).run();
  }

  /// As the first, from as many threads as `executor` likes (lido/tbb.hpp has
  /// `lido::par`). f erases nothing, and a false ends only the range that an executor is at.
  /// Requires: f only calls functions of the map that are const.
  template <parallel_executor Executor, class F>
  void for_each(const Executor& executor, F f) {
    close_holes_before_walk();
    walk_on<T>(executor, f);
  }

  /// As above with `const T&`. Steps over holes, and may run beside other const functions.
  template <parallel_executor Executor, class F>
  void for_each(const Executor& executor, F f) const {
    walk_on<const T>(executor, f);
  }

  [[nodiscard]] iterator begin() noexcept { return {this, store_.next_value(0)}; }
  [[nodiscard]] iterator end() noexcept { return {this, detail::null_slot}; }
  [[nodiscard]] const_iterator begin() const noexcept { return {this, store_.next_value(0)}; }
  [[nodiscard]] const_iterator end() const noexcept { return {this, detail::null_slot}; }

  /// All values as an array, when holes have been closed. Good until the map changes. Throws what
  /// moving throws. Requires: no walk is running.
  [[nodiscard]] std::span<T> values() {
    compact();
    return {store_.values(), store_.end()};
  }

  /// Closes all holes, each by one move at most. If a move throws, the rest stays open. Called
  /// during a walk: when that ends.
  void compact() {
    if (walks_ != 0) {
      compact_later_ = true;
      return;
    }
    if (store_.holes() != 0) {
      store_.close_holes([this](std::uint32_t place) noexcept { announce_move(place); });
    }
    shrink_if_sparse();
  }

  /// Room for `count` values, `max_size()` at most, kept until shrink_to_fit. Throws
  /// std::bad_alloc, std::bad_array_new_length, std::invalid_argument (above 2^32 - 2).
  void reserve(std::size_t count) {
    const std::size_t wanted = std::min(count, max_size_);
    if (wanted > detail::max_capacity) {
      detail::throw_invalid_option(name_, "no room for " + std::to_string(count) + " values");
    }
    store_.reserve_slots(wanted);
    if (wanted > store_.capacity()) {
      store_.relocate(static_cast<std::uint32_t>(wanted));
      announce_moves(store_.end());
    }
    kept_ = std::max(kept_, static_cast<std::uint32_t>(wanted));
  }

  /// Closes holes, drops what `reserve` kept, shrinks the table and then the array to what is used
  /// and `reserve` of the options. Throws std::bad_alloc, and what moving throws: what came before
  /// stays done, no value is lost (see above on a move that throws). During a walk: compact().
  void shrink_to_fit() {
    compact();
    if (walks_ == 0) {
      kept_ = reserve_;
      store_.shrink_table(reserve_);
      shrink_places_to(std::max(store_.end(), reserve_));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return store_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t max_size() const noexcept { return max_size_; }
  /// Places for values that memory is allocated for.
  [[nodiscard]] std::size_t capacity() const noexcept { return store_.capacity(); }
  /// Places that a walk has to step over.
  [[nodiscard]] std::size_t holes() const noexcept { return store_.holes(); }
  /// Slots that are not used again, since every generation of theirs has been given out.
  [[nodiscard]] std::size_t used_up_slots() const noexcept { return store_.used_up(); }
  /// Memory beyond the values: 8 bytes and one bit per place, 8 bytes per slot there is room for.
  /// Blocks of 2 MiB or more are rounded up to whole huge pages, by an eighth at most.
  [[nodiscard]] std::size_t bookkeeping_bytes() const noexcept {
    return store_.memory() - capacity() * sizeof(T);
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Hooks& hooks() noexcept { return hooks_; }
  [[nodiscard]] const Hooks& hooks() const noexcept { return hooks_; }

 private:
  friend iterator;
  friend const_iterator;
  template <class, class, class>
  friend class detail::walk;
  [[nodiscard]] T& value_at(std::uint32_t place) const noexcept { return store_.values()[place]; }
  [[nodiscard]] handle_type handle_at(std::uint32_t place) const noexcept {
    return handle_type::from_bits(store_.handle_at(place));
  }

  void close_holes_before_walk() {
    if (mode_ == compaction_mode::deferred && walks_ == 0) {
      compact();
    }
  }

  template <class Value, class Executor, class F>
  void walk_on(const Executor& executor, F& f) const {
    executor(store_.end(), [&](std::uint32_t first, std::uint32_t last) {
      (void)detail::walk<Value, const slot_map, F>(*this, f, first, last).run();
    });
  }

  template <class... Args>
  handle_type add(Args&&... args) {
    if (store_.has_room()) [[likely]] {
      return announce_insert(store_.emplace(std::forward<Args>(args)...));
    }
    return grow_and_add(std::forward<Args>(args)...);
  }

  // Not inlined, so that the frequent path is.
  template <class... Args>
  [[gnu::noinline]] handle_type grow_and_add(Args&&... args) {
    const std::size_t most = std::min<std::size_t>(max_size_, detail::max_capacity);
    if (capacity() >= most) {
      detail::throw_pool_exhausted(name_, most, capacity());
    }
    const std::size_t more = std::min(std::max(capacity() * 2, detail::first_capacity), most);
    const std::uint64_t made =
        store_.relocate_and_emplace(static_cast<std::uint32_t>(more), std::forward<Args>(args)...);
    announce_moves(store_.end() - 1);
    return announce_insert(made);
  }

  /// With holes closed at once and none open: moves the last value there. False: nothing done.
  bool erase_and_fill(std::uint32_t place, std::uint64_t handle) noexcept {
    if (!std::is_nothrow_move_constructible_v<T> || mode_ != compaction_mode::immediate ||
        walks_ != 0 || store_.holes() != 0 || place + 1 == store_.end()) {
      return false;
    }
    store_.erase_and_fill(place, handle);
    announce_move(place);
    shrink_if_sparse();
    return true;
  }

  /// After a change, and when a walk ends: what `compaction_mode` says, unless a walk is running.
  void settle() noexcept {
    if (walks_ != 0 || (mode_ != compaction_mode::immediate && !compact_later_)) {
      return;
    }
    compact_later_ = false;
    detail::attempt([this] { compact(); }, [] {});  // holes that are left are closed later
  }

  // A half moved T is not worth the memory, so types whose moves may throw wait for shrink_to_fit.
  void shrink_if_sparse() noexcept {
    const std::size_t used = store_.end();
    if (std::is_nothrow_move_constructible_v<T> && capacity() / 4 > used &&
        capacity() - used > std::max(shrink_threshold_, detail::first_capacity)) [[unlikely]] {
      const std::size_t places = std::max<std::size_t>(2 * used, kept_);
      // Without memory for fewer places, those that there are stay.
      detail::attempt([&] { shrink_places_to(static_cast<std::uint32_t>(places)); }, [] {});
    }
  }

  void shrink_places_to(std::uint32_t places) {
    if (places < store_.capacity()) {
      store_.relocate(places);
      announce_moves(store_.end());
    }
  }

  /// Takes the bits of the handle of a new value.
  handle_type announce_insert(std::uint64_t made) {
    const auto handle = handle_type::from_bits(made);
    if constexpr (detail::names_on_insert<Hooks>) {
      const std::uint32_t place = store_.find(made);
      detail::scope_exit take_back([&]() noexcept {
        store_.erase(place, made);
        settle();
      });
      hooks_.on_insert(value_at(place), handle);
      take_back.dismiss();
    }
    return handle;
  }

  void announce_erase([[maybe_unused]] std::uint32_t place) noexcept {
    if constexpr (detail::names_on_erase<Hooks>) {
      hooks_.on_erase(value_at(place), handle_at(place));
    }
  }
  void announce_move([[maybe_unused]] std::uint32_t place) noexcept {
    if constexpr (detail::names_on_move<Hooks>) {
      hooks_.on_move(value_at(place), handle_at(place));
    }
  }

  /// Of all values at the places below `end`.
  void announce_moves(std::uint32_t end) noexcept {
    if constexpr (detail::names_on_move<Hooks>) {
      for (std::uint32_t p = store_.next_value(0); p < end; p = store_.next_value(p + 1)) {
        announce_move(p);
      }
    }
  }

  [[no_unique_address]] Hooks hooks_;  ///< first: if their move throws, `other` is as it was
  std::string name_;
  std::size_t max_size_;
  std::uint32_t reserve_;   ///< of the options
  std::uint32_t kept_ = 0;  ///< places that are not given back by themselves
  std::size_t shrink_threshold_;
  compaction_mode mode_;
  bool compact_later_ = false;
  std::uint32_t walks_ = 0;  ///< one within another
  detail::value_store<T, LastGeneration> store_;
};

}  // namespace lido
