/// @file
/// Public. `secondary_map<T, Value>`: extra data for values of a slot map, keyed by handle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/base/assert.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/slot_map/callbacks.hpp"
#include "lido/slot_map/entry_table.hpp"
#include "lido/slot_map/slot_handle.hpp"
#include "lido/slot_map/value_aside.hpp"

namespace lido::inline v0 {
namespace detail {

/// Memory for `capacity` values. Its owner makes and destroys the values.
template <class Value>
class value_memory {
 public:
  value_memory() noexcept = default;
  /// Throws std::bad_alloc.
  explicit value_memory(std::size_t capacity)
      : data_(capacity != 0 ? std::allocator<Value>().allocate(capacity) : nullptr),
        capacity_(capacity) {}
  value_memory(value_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  value_memory& operator=(value_memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  value_memory(const value_memory&) = delete;
  value_memory& operator=(const value_memory&) = delete;
  ~value_memory() {
    if (data_ != nullptr) {
      std::allocator<Value>().deallocate(data_, capacity_);
    }
  }

  [[nodiscard]] Value* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  Value* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace detail

/// Stores an entry of type Value for some of the handles of one `slot_map<T>`. The values lie side
/// by side in one array, in no particular order, so a walk is a loop over an array. Insert, erase
/// and find take constant time, except for an insert that grows the array. An entry takes
/// `sizeof(Value)` + 8 bytes. The map also takes 4 KiB for each group of 512 slots in which some
/// slot has had an entry.
///
/// A secondary_map is not connected to its slot map, so an entry may outlive the value that it
/// belongs to. The entry stays until it is erased, or until a later value of the same slot gets an
/// entry.
///
/// Value must be movable. If its move constructor may throw, entries are replaced and erased by
/// assignment. If that assignment throws, the entry remains, with whatever value the assignment
/// left. If such a Value cannot be copied either, and a move throws while the array grows, some
/// values remain moved-from. Otherwise, a call that throws has had no effect.
///
/// Thread safety is that of std::vector. Requires: neither constructors nor the destructor of Value
/// use the secondary_map that contains the value.
template <class T, class Value>
class secondary_map {
  static_assert(std::is_object_v<Value> && !std::is_array_v<Value> && !std::is_const_v<Value>,
                "lido: a secondary map holds objects: no references, arrays or const types");
  static constexpr bool moves_nothrow =
      std::is_nothrow_move_constructible_v<Value> || std::is_nothrow_move_assignable_v<Value>;

 public:
  using value_type = Value;
  /// Type of the handles.
  using handle_type = slot_handle<T>;

  secondary_map() noexcept = default;
  /// Moves all entries. `other` is then empty and may be used again.
  secondary_map(secondary_map&& other) noexcept { swap(*this, other); }
  /// Copies all entries. Throws std::bad_alloc, and whatever copying a Value throws. Like that of
  /// std::vector, this constructor is declared for every Value.
  secondary_map(const secondary_map& other)
      : values_(other.size()), handles_(other.handles_), table_(other.table_) {
    static_assert(std::is_copy_constructible_v<Value>,
                  "lido: a copy of a secondary_map copies its values, and Value cannot be copied");
    std::uninitialized_copy_n(other.values_.data(), other.size(), values_.data());
  }
  /// Replaces all entries by those of `other`, which is then empty.
  secondary_map& operator=(secondary_map&& other) noexcept {
    secondary_map moved(std::move(other));
    swap(*this, moved);
    return *this;
  }
  /// Replaces all entries by copies of those of `other`. If copying throws, it has had no effect.
  secondary_map& operator=(const secondary_map& other) {
    if (this != &other) {
      secondary_map copy(other);
      swap(*this, copy);
    }
    return *this;
  }
  ~secondary_map() { std::destroy_n(values_.data(), size()); }

  friend void swap(secondary_map& a, secondary_map& b) noexcept {
    std::swap(a.values_, b.values_);
    std::swap(a.handles_, b.handles_);
    std::swap(a.table_, b.table_);
  }

  /// Adds an entry for `handle`, constructed from `args` as `object_pool::acquire` does, or
  /// replaces the existing one. An entry of an earlier handle of the same slot is replaced, too.
  /// Returns a pointer to the entry, valid until the next insert or erase. Returns nullptr, without
  /// effect, if `handle` is null, or if a later handle of its slot has had an entry. A Value of
  /// more than 1 KiB is first made on the heap. `args` may refer to entries of this map.
  ///
  /// Throws std::bad_alloc, and whatever making or moving a Value throws. A `handle` from an
  /// untrusted source can make the map allocate 64 MiB, since the groups of slots up to that of
  /// `handle` take 8 bytes each.
  template <class... Args>
  [[LIDO_ASSERTS]] Value* emplace(handle_type handle, Args&&... args) {
    if (handle.generation() == 0 || handle.index() == detail::null_slot ||
        table_.has_had_later(handle.index(), handle.generation())) {
      return nullptr;
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): `value` owns what it is made of
    auto value = detail::make_aside<Value>(std::forward<Args>(args)...);
    const std::uint32_t old = table_.prepare(handle.index());
    const std::uint32_t position = old != detail::null_slot
                                       ? replace(old, handle, std::move(*value))
                                       : append(handle, std::move(*value));
    table_.set(handle.index(), handle.generation(), position);
    return values_.data() + position;
  }
  /// Adds or replaces an entry as emplace does.
  [[LIDO_ASSERTS]] Value* insert(handle_type handle, const Value& value) {
    return emplace(handle, value);
  }
  [[LIDO_ASSERTS]] Value* insert(handle_type handle, Value&& value) {
    return emplace(handle, std::move(value));
  }

  /// Returns a pointer to the entry, valid until the next insert or erase; nullptr if there is no
  /// entry.
  [[nodiscard]] Value* find(handle_type handle) noexcept {
    Value* const values = values_.data();
    const std::uint32_t position = table_.find(handle.index(), handle.generation());
    return position != detail::null_slot ? values + position : nullptr;
  }
  [[nodiscard]] const Value* find(handle_type handle) const noexcept {
    return const_cast<secondary_map&>(*this).find(handle);  // NOLINT(*-const-cast): changes nothing
  }
  /// Returns true if `handle` has an entry.
  [[nodiscard]] bool contains(handle_type handle) const noexcept { return find(handle) != nullptr; }

  /// Erases the entry of `handle`, and moves the last entry into the gap. Returns false if there is
  /// no entry. Throws only if moving a Value may throw; the entry then remains.
  [[LIDO_ASSERTS]] bool erase(handle_type handle) noexcept(moves_nothrow) {
    const std::uint32_t position = table_.find(handle.index(), handle.generation());
    if (position == detail::null_slot) {
      return false;
    }
    close_gap(position);
    table_.erase(handle.index());
    return true;
  }

  /// Erases the entries of all handles for which `map.contains` returns false. That includes
  /// handles that are reserved in `map`. Also forgets the generations of those handles, because
  /// `map.restore` may make an earlier handle valid again. Looks up each entry once.
  template <class Map>
  [[LIDO_ASSERTS]] void erase_stale(const Map& map) noexcept(moves_nothrow) {
    for (std::size_t left = size(); left != 0; --left) {
      const handle_type handle = handles_[left - 1];
      if (!map.contains(handle)) {
        (void)erase(handle);
      }
    }
    table_.forget_erased([&map](std::uint32_t slot, std::uint32_t generation) {
      return !map.contains(handle_type(slot, generation));
    });
  }

  /// Erases all entries and forgets the generations of their handles. Keeps the memory; to free
  /// that as well, assign an empty map.
  [[LIDO_ASSERTS]] void clear() noexcept {
    [[maybe_unused]] const std::size_t entries = size();
    std::destroy_n(values_.data(), size());
    LIDO_ASSERT(size() == entries, "a destructor of a Value changed its secondary_map");
    handles_.clear();
    table_.clear();
  }

  /// Allocates memory for `count` entries. Inserts of up to that many entries then move no values,
  /// but still allocate when a group of 512 slots gets its first entry. Throws std::bad_alloc, and
  /// whatever moving a Value throws.
  void reserve(std::size_t count) {
    if (count > capacity()) {
      grow(count);
    }
  }

  /// Calls `f(Value&)`, `f(Value&, handle)` or `f(Value&, handle, secondary_map&)` for each entry,
  /// from the last one to the first. `f` may return nothing, a `bool` or a `step`, as for a walk of
  /// a slot map. Returns true unless `f` stopped the walk.
  ///
  /// `f` may insert entries, erase the current entry, and start a walk. Every entry that exists
  /// throughout the walk is then visited once, and no inserted entry is visited. `f` may also erase
  /// other entries. The walk then still misses no entry, but may visit some twice, and may visit
  /// inserted ones. An insert or erase invalidates the reference passed to `f`.
  template <class F>
  [[LIDO_ASSERTS]] bool for_each(F&& f) {
    return walk(*this, f);
  }
  /// Walks as above, but passes `const Value&` to `f`. `f` must not change the map.
  template <class F>
  [[LIDO_ASSERTS]] bool for_each(F&& f) const {
    return walk(*this, f);
  }

  /// Returns all values as an array, valid until the next insert or erase. Swapping values in the
  /// array makes handles refer to other values.
  [[nodiscard]] std::span<Value> values() noexcept { return {values_.data(), size()}; }
  [[nodiscard]] std::span<const Value> values() const noexcept { return {values_.data(), size()}; }
  /// Returns the handles of all entries, in the order of `values()`.
  [[nodiscard]] std::span<const handle_type> handles() const noexcept { return handles_; }

  [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }
  [[nodiscard]] bool empty() const noexcept { return handles_.empty(); }
  /// Returns the number of entries that memory is allocated for.
  [[nodiscard]] std::size_t capacity() const noexcept { return values_.capacity(); }

 private:
  static constexpr std::size_t first_capacity = 16;

  template <class Self, class F>
  [[LIDO_ASSERTS]] static bool walk(Self& map, F& f) {
    // Backwards, so that an erase of the current entry fills the gap with one already visited.
    std::size_t size = map.size();
    for (std::size_t left = size; left != 0;) {
      --left;
      const handle_type handle = map.handles_[left];
      auto& value = map.values()[left];
      const step verdict = detail::visit_with(map, f, value, [handle] { return handle; });
      if constexpr (!std::is_const_v<Self>) {
        (void)(detail::erases(verdict) && map.erase(handle));
      }
      if (detail::stops(verdict)) {
        return false;
      }
      if (map.size() != size) [[unlikely]] {
        size = map.size();
        left = (std::min)(left, size);  // `f` may have erased several entries
      }
    }
    return true;
  }

  /// Replaces the entry at `position` by one of a handle of the same slot. Returns `position`.
  [[LIDO_ASSERTS]] std::uint32_t replace(std::uint32_t position, handle_type handle,
                                         Value&& value) noexcept(moves_nothrow) {
    [[maybe_unused]] const std::size_t entries = size();
    assign(values_.data()[position], std::move(value));
    LIDO_ASSERT(size() == entries, "a destructor of a Value changed its secondary_map");
    handles_[position] = handle;
    return position;
  }

  /// Adds an entry after the last one, and returns its position.
  std::uint32_t append(handle_type handle, Value&& value) {
    if (size() == capacity()) {
      grow((std::max)(2 * capacity(), first_capacity));
    }
    ::new (static_cast<void*>(values_.data() + size())) Value(std::move(value));
    handles_.push_back(handle);  // cannot throw, because `grow` has reserved memory
    return static_cast<std::uint32_t>(size() - 1);
  }

  /// Destroys the entry at `position`, and moves the last one there. If the move throws, no entry
  /// is destroyed.
  [[LIDO_ASSERTS]] void close_gap(std::uint32_t position) noexcept(moves_nothrow) {
    [[maybe_unused]] const std::size_t entries = size();
    const handle_type last = handles_.back();
    Value& moved = values_.data()[size() - 1];
    if (position != size() - 1) {
      assign(values_.data()[position], std::move(moved));
    }
    std::destroy_at(std::addressof(moved));
    LIDO_ASSERT(size() == entries, "a destructor of a Value changed its secondary_map");
    handles_[position] = last;
    handles_.pop_back();
    table_.move(last.index(), position);
  }

  static void assign(Value& to, Value&& from) noexcept(moves_nothrow) {
    if constexpr (std::is_nothrow_move_constructible_v<Value>) {
      std::destroy_at(std::addressof(to));
      ::new (static_cast<void*>(std::addressof(to))) Value(std::move(from));
    } else {
      static_assert(std::is_move_assignable_v<Value>,
                    "lido: a secondary_map moves values onto others, so a Value whose move "
                    "constructor may throw must be assignable");
      to = std::move(from);
    }
  }

  void grow(std::size_t count) {
    detail::value_memory<Value> larger(count);
    handles_.reserve(count);
    if constexpr (std::is_nothrow_move_constructible_v<Value> ||
                  !std::is_copy_constructible_v<Value>) {
      std::uninitialized_move_n(values_.data(), size(), larger.data());
    } else {
      std::uninitialized_copy_n(values_.data(), size(), larger.data());
    }
    std::destroy_n(values_.data(), size());
    values_ = std::move(larger);
  }

  detail::value_memory<Value> values_;  ///< contains `size()` values
  std::vector<handle_type> handles_;    ///< of the same positions; has the capacity of values_
  detail::entry_table table_;
};

}  // namespace lido::inline v0
