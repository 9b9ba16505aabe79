/// @file
/// Internal. The earliest of many, at hand: an intrusive pairing heap.
#pragma once

#include <utility>

namespace lido::detail {

/// What a T that can be in a heap derives from. `Tag` tells two heaps of one T apart.
template <class T, class Tag = void>
class heap_hook {
  template <class, class, class>
  friend class deadline_heap;
  T* below_ = nullptr;   ///< its first child
  T* beside_ = nullptr;  ///< the next child of the same parent
  T* before_ = nullptr;  ///< the child before it; of the first one, the parent
  bool in_heap_ = false;
};

/// An insertion costs one comparison, a removal the logarithm of the size, amortised (Fredman,
/// Sedgewick, Sleator and Tarjan, The pairing heap, 1986). `Sooner(a, b)` is a strict order.
/// Allocates nothing; not thread-safe.
template <class T, class Sooner, class Tag = void>
class deadline_heap {
  using links = heap_hook<T, Tag>;

 public:
  [[nodiscard]] T* first() const noexcept { return first_; }
  [[nodiscard]] static bool contains(const T& one) noexcept { return of(one).in_heap_; }

  /// Requires: it is in no heap.
  void push(T& one) noexcept {
    of(one).in_heap_ = true;
    first_ = meld(first_, &one);
  }

  /// Nothing if it is not in the heap.
  void remove(T& one) noexcept {
    links& mine = of(one);
    if (!std::exchange(mine.in_heap_, false)) {
      return;
    }
    T* const rest = gather(std::exchange(mine.below_, nullptr));
    if (first_ == &one) {
      first_ = rest;
      return;
    }
    links& before = of(*mine.before_);
    (before.below_ == &one ? before.below_ : before.beside_) = mine.beside_;
    if (mine.beside_ != nullptr) {
      of(*mine.beside_).before_ = mine.before_;
    }
    mine.before_ = nullptr;
    mine.beside_ = nullptr;
    first_ = meld(first_, rest);
  }

 private:
  static links& of(T& one) noexcept { return one; }
  static const links& of(const T& one) noexcept { return one; }

  /// One heap of two, of which each may be null. Requires: neither has a sibling.
  static T* meld(T* one, T* other) noexcept {
    if (one == nullptr || other == nullptr) {
      return one != nullptr ? one : other;
    }
    if (Sooner()(*other, *one)) {
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

  /// One heap of siblings without a parent: melds them in pairs, then pair after pair.
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
      of(*all).before_ = nullptr;
    }
    return all;
  }

  T* first_ = nullptr;
};

}  // namespace lido::detail
