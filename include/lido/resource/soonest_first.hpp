/// @file
/// Internal. The soonest of many, at hand: a pairing heap that allocates nothing.
#pragma once

#include <utility>

namespace lido::detail {

/// What a T that can be in a heap derives from. Written under whatever guards the heap.
template <class T>
class heap_links {
  template <class, class>
  friend class soonest_first;

  T* below_ = nullptr;   ///< its first child
  T* beside_ = nullptr;  ///< the next child of the same parent
  T* before_ = nullptr;  ///< the child before it; of the first one, the parent
  bool in_heap_ = false;
};

/// One more costs one comparison; one less the logarithm of their number, amortised (Fredman,
/// Sedgewick, Sleator and Tarjan, The pairing heap, 1986). `Sooner(a, b)` is a strict order. Not
/// thread-safe.
template <class T, class Sooner>
class soonest_first {
 public:
  explicit soonest_first(Sooner sooner = {}) noexcept : sooner_(sooner) {}

  /// The soonest, or null.
  [[nodiscard]] T* first() const noexcept { return first_; }

  /// Requires: it is in no heap.
  void push(T& one) noexcept {
    one.in_heap_ = true;
    first_ = meld(first_, &one);
  }

  /// Nothing if it is not in the heap.
  void remove(T& one) noexcept {
    if (!std::exchange(one.in_heap_, false)) {
      return;
    }
    T* const rest = gather(std::exchange(one.below_, nullptr));
    if (first_ == &one) {
      first_ = rest;
      return;
    }
    (one.before_->below_ == &one ? one.before_->below_ : one.before_->beside_) = one.beside_;
    if (one.beside_ != nullptr) {
      one.beside_->before_ = one.before_;
    }
    one.before_ = nullptr;
    one.beside_ = nullptr;
    first_ = meld(first_, rest);
  }

 private:
  /// One heap of two, of which each may be null. Requires: neither has a child beside it.
  T* meld(T* one, T* other) noexcept {
    if (one == nullptr || other == nullptr) {
      return one != nullptr ? one : other;
    }
    if (sooner_(*other, *one)) {
      std::swap(one, other);
    }
    other->before_ = one;
    other->beside_ = one->below_;
    if (one->below_ != nullptr) {
      one->below_->before_ = other;
    }
    one->below_ = other;
    return one;
  }

  /// One heap of children that have lost their parent: in pairs, then pair after pair.
  T* gather(T* next) noexcept {
    T* pairs = nullptr;
    while (next != nullptr) {
      T* const one = next;
      T* const other = std::exchange(one->beside_, nullptr);
      next = other != nullptr ? std::exchange(other->beside_, nullptr) : nullptr;
      T* const pair = meld(one, other);
      pair->beside_ = pairs;
      pairs = pair;
    }
    T* all = nullptr;
    while (pairs != nullptr) {
      T* const pair = pairs;
      pairs = std::exchange(pair->beside_, nullptr);
      all = meld(all, pair);
    }
    if (all != nullptr) {
      all->before_ = nullptr;
    }
    return all;
  }

  [[no_unique_address]] Sooner sooner_;
  T* first_ = nullptr;
};

}  // namespace lido::detail
