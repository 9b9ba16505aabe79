/// @file
/// Internal. A lock-free LIFO list of free indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lido/base/assert.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/zeroed_array.hpp"
#include "lido/freelist/index_list.hpp"
#include "tagged_index.hpp"

namespace lido::inline v0::detail {

/// A Treiber stack (IBM RJ 5118, 1986) over indices, with a tag against ABA in the head word.
///
/// Invariants
///  I1 Each index is in the list at most once.
///  I2 Links live in an array of atomics that is never freed while the list lives. An index that
///     is not in the list keeps its stale link, which any thread may still read.
///  I3 Every push stores a tag that is one more than the tag it observed, so a head word returns to
///     an earlier value only after 2^tag_bits pushes.
///  I4 A link from `index` to `next` is stored as the difference between `next` and `index` + 1.
///     Zeroed memory is therefore the chain of all indices in order. The difference is an xor,
///     which costs a walk one cycle per index. Index `nodes` ends the chain.
///  I5 Of several lists that share links, at most one contains a given index. A pop may read the
///     link of an index that has meanwhile moved to another list. It then fails as in I3, because
///     the head of its own list has changed.
/// Memory ordering: push (4) -> pop (1, 2). All changes of the head are read-modify-writes, so even
///   if a pop reads a later head, that head is in the release sequence of the push of its node.
/// Progress: lock-free.
///
/// `Head` is the type of the head word. Tests may use a type whose compare-and-swaps fail more
/// often.
template <class Head>
class basic_treiber_list final : public index_list {
 public:
  /// Creates a list with the indices from `first` to nodes - 1. Throws std::bad_alloc. Requires:
  /// nodes <= max_capacity; `first` is `nodes` if the list grows, since such a list starts empty.
  [[LIDO_ASSERTS]] basic_treiber_list(std::uint32_t nodes, slot_index first, growth kind,
                                      unsigned most_tag_bits = 64)
      : format_(nodes, most_tag_bits), links_(nodes, kind), head_(format_.make(first, 0)) {
    LIDO_ASSERT(nodes <= max_capacity && first <= nodes, "a list of more indices than there are");
    LIDO_ASSERT(kind == growth::none || first == nodes, "a list that grows starts with indices");
  }

  /// Creates a list with the indices from `first` to nodes - 1, whose links are in `memory`.
  /// Requires the same as the constructor above and zeroed_array::placed.
  [[LIDO_ASSERTS]] basic_treiber_list(
      std::uint32_t nodes, slot_index first,
      typename zeroed_array<atomic<slot_index>>::placed memory) noexcept
      : format_(nodes, 64), links_(nodes, memory), head_(format_.make(first, 0)) {
    LIDO_ASSERT(nodes <= max_capacity && first <= nodes, "a list of more indices than there are");
  }

  /// Selects the constructor of an empty list that uses the links of `owner`; see I5. Requires:
  /// `owner` outlives the list.
  struct sharing {
    basic_treiber_list& owner;
  };
  explicit basic_treiber_list(sharing with) noexcept
      : format_(with.owner.format_),
        links_(typename zeroed_array<atomic<slot_index>>::borrowed{with.owner.links_}),
        head_(format_.make(format_.end(), 0)) {}

  void push(slot_index index) noexcept override { push_linked(index, index); }

  void push_chain(std::span<const slot_index> chain) noexcept override {
    if (chain.empty()) {
      return;
    }
    for (std::size_t i = 1; i < chain.size(); ++i) {
      link(chain[i - 1], chain[i]);
    }
    push_linked(chain.front(), chain.back());
  }

  [[nodiscard]] slot_index pop() noexcept override {
    slot_index index = null_slot;
    return pop_chain({&index, 1}) == 1 ? index : null_slot;
  }

  /// Pops up to out.size() indices with a single change of the head.
  [[nodiscard]] std::uint32_t pop_chain(std::span<slot_index> out) noexcept override {
    exponential_backoff backoff;
    std::uint64_t retries = 0;
    // (1) - this acquire-load synchronizes-with the release-CAS (4), so the links below are visible
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const walked chain = walk(head, out);
      if (chain.count == 0) {
        return 0;
      }
      // (2) - this acq_rel-CAS synchronizes-with the release-CAS (4), even if it fails, because the
      // loop continues with the head that it has read. Its release half synchronizes-with the
      // acquire-load (3), so a thread that sees the shorter list also sees the marks of slots in
      // transit.
      if (head_.compare_exchange_weak(head, format_.make(chain.rest, format_.tag_of(head)),
                                      std::memory_order_acq_rel, std::memory_order_acquire)) {
        note(retries);
        return chain.count;
      }
      ++retries;
      backoff.pause();
    }
  }

  [[nodiscard]] bool empty() const noexcept override {
    return format_.index_of(head()) == format_.end();
  }

  /// Returns the top index without popping it, or a number above all indices if the list is empty.
  [[nodiscard]] slot_index top() const noexcept { return format_.index_of(head()); }

  /// Returns the tag. Only pushes change it, and each push increases it.
  [[nodiscard]] std::uint64_t version() const noexcept override { return format_.tag_of(head()); }

  [[nodiscard]] unsigned tag_bits() const noexcept { return format_.tag_bits(); }
  [[nodiscard]] std::uint64_t retries() const noexcept {
    // relaxed: a number for statistics
    return retries_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t memory() const noexcept override {
    return bytes_needed(static_cast<std::uint32_t>(links_.size()));
  }
  /// Returns what `memory()` returns for a list with links for `nodes` indices.
  [[nodiscard]] static std::size_t bytes_needed(std::uint32_t nodes) noexcept {
    return nodes * sizeof(slot_index);
  }

  [[nodiscard]] int extend_to(std::uint32_t nodes) noexcept override {
    return links_.extend_to(nodes);
  }

  /// Stores the indices from `first` on as one chain, as in a new list. The tag increases as in a
  /// push (I3). Requires: the links of these indices are zeros (I4); no other thread uses the list.
  // relaxed (whole function): no other thread uses the list
  void renew(slot_index first) noexcept {
    LIDO_ASSERT(first <= format_.end(), "a list of more indices than there are");
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    while (!head_.compare_exchange_weak(head, format_.make(first, format_.tag_of(head) + 1),
                                        std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
  }

  /// Restores the zeros of I4 in the links of the indices from `first` to `last` - 1. Requires: as
  /// `renew`.
  // relaxed (whole function): no other thread uses the list
  void clear_links(slot_index first, slot_index last) noexcept {
    for (slot_index index = first; index < last; ++index) {
      links_[index].store(0, std::memory_order_relaxed);
    }
  }

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
      // relaxed: ordered by (1, 2); if another thread has popped this index, the link may be stale,
      // but then the head has moved and the CAS (2) fails
      index = (index + 1) ^ links_[index].load(std::memory_order_relaxed);
    }
    return {count, index};
  }

  void link(slot_index index, slot_index next) noexcept {
    // relaxed: published by (4)
    links_[index].store((index + 1) ^ next, std::memory_order_relaxed);
  }

  void push_linked(slot_index first, slot_index last) noexcept {
    exponential_backoff backoff;
    std::uint64_t retries = 0;
    // relaxed: only a guess, validated by (4); nothing is read through it
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    for (;;) {
      link(last, format_.index_of(head));
      // (4) - this release-CAS synchronizes-with the acquire-load (1, 3) and the acq_rel-CAS (2),
      // so a thread that pops sees the links and everything that happened to the slots before. On
      // failure relaxed: the new head is again only a guess. The tag comes from the head just
      // observed (I3).
      if (head_.compare_exchange_weak(head, format_.make(first, format_.tag_of(head) + 1),
                                      std::memory_order_release, std::memory_order_relaxed)) {
        note(retries);
        return;
      }
      ++retries;
      backoff.pause();
    }
  }

  void note(std::uint64_t retries) noexcept {
    if (retries != 0) [[unlikely]] {
      // relaxed: a number for statistics, in the cache line that the thread has just changed
      retries_.fetch_add(retries, std::memory_order_relaxed);
    }
  }

  tagged_index_format format_;
  zeroed_array<atomic<slot_index>> links_;
  alignas(cache_line) Head head_;  // the members before it are only read, and share no line with it
  unscheduled_atomic<std::uint64_t> retries_{0};
};

using treiber_list = basic_treiber_list<shared_atomic<std::uint64_t>>;

}  // namespace lido::inline v0::detail
