/// @file
/// Internal. An intrusive pairing heap, which finds the earliest of many deadlines.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "lido/base/assert.hpp"

namespace lido::inline v0::detail {

/// Base class of a T that can be in a heap. If a T can be in several heaps at once, it has one such
/// base class for each heap. `Tag` distinguishes them.
template <class T, class Tag = void, class Key = std::int64_t>
class heap_hook {
  template <class, class, class>
  friend class deadline_heap;
  T* below_ = nullptr;   ///< its first child
  T* beside_ = nullptr;  ///< the next child of the same parent
  T* before_ = nullptr;  ///< the previous child; for a first child, its parent; for the top, itself
  Key key_{};
};

/// A heap that finds the least key. An insertion costs one comparison. A removal takes amortised
/// logarithmic time (Fredman, Sedgewick, Sleator and Tarjan, The pairing heap, 1986). Allocates
/// nothing. Not thread-safe.
template <class T, class Tag = void, class Key = std::int64_t>
class deadline_heap {
  using links = heap_hook<T, Tag, Key>;

 public:
  /// Returns the element with the least key, or null.
  [[nodiscard]] T* first() const noexcept { return first_; }
  /// Returns the least key, or the largest Key if the heap is empty.
  [[nodiscard]] Key least_key() const noexcept {
    return first_ != nullptr ? of(*first_).key_ : (std::numeric_limits<Key>::max)();
  }
  [[nodiscard]] static bool contains(const T& one) noexcept { return of(one).before_ != nullptr; }
  /// Returns the key of `one`. Requires: `one` is in a heap.
  [[nodiscard, LIDO_ASSERTS]] static Key key_of(const T& one) noexcept {
    LIDO_ASSERT(contains(one), "the key of one that is in no heap");
    return of(one).key_;
  }

  /// Inserts `one`. Requires: `one` is in no heap.
  [[LIDO_ASSERTS]] void push(T& one, Key key) noexcept {
    LIDO_ASSERT(!contains(one), "a push of one that is in a heap");
    of(one).key_ = key;
    of(one).before_ = &one;
    first_ = meld(first_, &one);
  }

  /// Removes `one`. Does nothing if `one` is not in the heap.
  void remove(T& one) noexcept {
    links& mine = of(one);
    T* const before = std::exchange(mine.before_, nullptr);
    if (before == nullptr) {
      return;
    }
    T* const rest = gather(std::exchange(mine.below_, nullptr));
    if (first_ == &one) {
      first_ = rest;
      return;
    }
    T* const after = std::exchange(mine.beside_, nullptr);
    (of(*before).below_ == &one ? of(*before).below_ : of(*before).beside_) = after;
    if (after != nullptr) {
      of(*after).before_ = before;
    }
    first_ = meld(first_, rest);
  }

 private:
  static links& of(T& one) noexcept { return static_cast<links&>(one); }
  static const links& of(const T& one) noexcept { return static_cast<const links&>(one); }

  /// Merges two heaps, each of which may be null. Requires: neither top has a sibling.
  [[LIDO_ASSERTS]] static T* meld(T* one, T* other) noexcept {
    if (one == nullptr || other == nullptr) {
      return one != nullptr ? one : other;
    }
    LIDO_ASSERT(of(*one).beside_ == nullptr && of(*other).beside_ == nullptr,
                "a meld of a heap that has a sibling");
    if (of(*other).key_ < of(*one).key_) {
      std::swap(one, other);
    }
    of(*other).before_ = one;
    of(*other).beside_ = of(*one).below_;
    if (of(*one).below_ != nullptr) {
      of(*of(*one).below_).before_ = other;
    }
    of(*one).below_ = other;
    return one;
  }

  /// Merges siblings without a parent into one heap: first in pairs, then one pair after another.
  static T* gather(T* next) noexcept {
    T* pairs = nullptr;
    while (next != nullptr) {
      T* const one = next;
      T* const other = std::exchange(of(*one).beside_, nullptr);
      next = other != nullptr ? std::exchange(of(*other).beside_, nullptr) : nullptr;
      T* const pair = meld(one, other);
      of(*pair).beside_ = pairs;
      pairs = pair;
    }
    T* all = nullptr;
    while (pairs != nullptr) {
      T* const pair = pairs;
      pairs = std::exchange(of(*pair).beside_, nullptr);
      all = meld(all, pair);
    }
    if (all != nullptr) {
      of(*all).before_ = all;
    }
    return all;
  }

  T* first_ = nullptr;
};

}  // namespace lido::inline v0::detail
