/// @file
/// Internal. The lock-free LIFO of free indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lido/base/heap_array.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/mapped_array.hpp"
#include "lido/freelist/index_stack.hpp"
#include "lido/freelist/tagged_index.hpp"

namespace lido::detail {

/// A Treiber stack (IBM RJ 5118, 1986) over indices, with a tag against ABA in the head word.
///
/// Invariants
///  I1 Each index is in the stack at most once.
///  I2 Links live in an array of atomics that is never freed while the stack lives. An index that
///     is not in the stack keeps its stale link, which any thread may still read.
///  I3 Every push stores a tag that is one more than the tag it observed, so a head word returns to
///     an earlier value only after 2^tag_bits pushes.
/// Memory ordering: push (4) -> pop (1, 2). All changes of the head are read-modify-writes, so a
///   pop that reads any later head is still in the release sequence of the push of its node.
/// Progress: lock-free. Never allocates after construction.
///
/// `Head` is the word of the head; that of lido/testing.hpp fails its compare-and-swaps more often.
/// `Array` holds the links; over a mapped_array the stack can be extended.
template <unsigned MaxTagBits = 64, class Head = shared_atomic<std::uint64_t>,
          template <class> class Array = heap_array>
class treiber_stack {
 public:
  /// Throws std::bad_alloc. Requires: 0 <= nodes <= max_capacity.
  explicit treiber_stack(std::uint32_t nodes)
      : format_(nodes, MaxTagBits), links_(nodes), head_(format_.make(nodes, 0)) {}

  void push(slot_index index) noexcept { push_linked(index, index); }

  /// Pushes all of `chain` with one change of the head; its first element ends on top.
  void push_chain(std::span<const slot_index> chain) noexcept {
    if (chain.empty()) {
      return;
    }
    for (std::size_t i = 1; i < chain.size(); ++i) {
      // relaxed: published by (4)
      links_[chain[i - 1]].store(chain[i], std::memory_order_relaxed);
    }
    push_linked(chain.front(), chain.back());
  }

  /// The top index, or null_slot when the stack is empty.
  [[nodiscard]] slot_index pop() noexcept {
    slot_index index = null_slot;
    return pop_chain({&index, 1}) == 1 ? index : null_slot;
  }

  /// Pops up to out.size() indices with one change of the head; returns how many.
  [[nodiscard]] std::uint32_t pop_chain(std::span<slot_index> out) noexcept {
    exponential_backoff backoff;
    // (1) - this acquire-load synchronizes-with the release-CAS (4), so the links below are visible
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const walked chain = walk(head, out);
      if (chain.count == 0) {
        return 0;
      }
      // (2) - this acq_rel-CAS synchronizes-with the release-CAS (4), also when it fails, because
      // it goes on with the head it then reads. Its release half shows the marks of slots in
      // transit to a thread that sees the stack shorter: it synchronizes-with the acquire-load (3).
      if (head_.compare_exchange_weak(head, format_.make(chain.rest, format_.tag_of(head)),
                                      std::memory_order_acq_rel, std::memory_order_acquire)) {
        return chain.count;
      }
      backoff.pause();
    }
  }

  [[nodiscard]] bool empty() const noexcept { return format_.index_of(head()) == format_.end(); }

  /// The tag: only a push moves it, and only upwards.
  [[nodiscard]] std::uint64_t version() const noexcept { return format_.tag_of(head()); }

  [[nodiscard]] unsigned tag_bits() const noexcept { return format_.tag_bits(); }

  /// Bytes the stack owns beside itself.
  [[nodiscard]] std::size_t memory() const noexcept { return links_.memory(); }

  /// See growing_index_stack. Requires: nodes is at most what the constructor was told.
  [[nodiscard]] int extend_to(std::uint32_t nodes) noexcept requires
      requires(Array<atomic<slot_index>>& links) {
    links.extend_to(0);
  }
  { return links_.extend_to(nodes); }

 private:
  struct walked {
    std::uint32_t count;
    slot_index rest;
  };

  [[nodiscard]] std::uint64_t head() const noexcept {
    // (3) - this acquire-load synchronizes-with the release-CAS (4) and the acq_rel-CAS (2)
    return head_.load(std::memory_order_acquire);
  }

  [[nodiscard]] walked walk(std::uint64_t head, std::span<slot_index> out) const noexcept {
    std::uint32_t count = 0;
    slot_index index = format_.index_of(head);
    while (index != format_.end() && count < out.size()) {
      out[count++] = index;
      // relaxed: ordered by (1, 2); if another thread popped this index meanwhile the link may be
      // stale, but then the head has moved and the CAS (2) fails
      index = links_[index].load(std::memory_order_relaxed);
    }
    return {count, index};
  }

  void push_linked(slot_index first, slot_index last) noexcept {
    exponential_backoff backoff;
    // relaxed: only a guess, validated by (4); nothing is read through it
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    for (;;) {
      // relaxed: published by (4)
      links_[last].store(format_.index_of(head), std::memory_order_relaxed);
      // (4) - this release-CAS synchronizes-with the acquire-load (1, 3) and the acq_rel-CAS (2),
      // so a thread that pops sees the links and all that happened to the slots before. On failure
      // relaxed: the new head is again only a guess. The tag comes from the head just observed
      // (I3).
      if (head_.compare_exchange_weak(head, format_.make(first, format_.tag_of(head) + 1),
                                      std::memory_order_release, std::memory_order_relaxed)) {
        return;
      }
      backoff.pause();
    }
  }

  tagged_index_format format_;
  Array<atomic<slot_index>> links_;
  alignas(no_false_sharing) Head head_;
};

static_assert(index_stack<treiber_stack<>> && !growing_index_stack<treiber_stack<>>);

/// The same with room that grows.
template <unsigned MaxTagBits = 64, class Head = shared_atomic<std::uint64_t>>
using growing_treiber_stack = treiber_stack<MaxTagBits, Head, mapped_array>;

static_assert(growing_index_stack<growing_treiber_stack<>>);

}  // namespace lido::detail
