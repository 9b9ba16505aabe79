/// @file
/// Public. `lido::boost_list()`: `boost::lockfree::stack` as the shared free list of a pool.
///
/// This list is an alternative for users who trust Boost more, and a reference for measurements. By
/// the letter of the standard, the links of Boost's stack have a data race. The stack's tags have
/// only 16 bits. So a thread that is suspended during 65,536 pops (about one time slice) may
/// mistake an old head for the current one. The tags of Lido's own list have 32 to 63 bits.
#pragma once

#include <boost/lockfree/policies.hpp>
#include <boost/lockfree/stack.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/zeroed_array.hpp"
#include "lido/freelist/index_list.hpp"

namespace lido::inline v0 {
namespace detail {

/// An index_list over boost::lockfree::stack. Pushes and pops the indices of a chain one by one.
///
/// Progress: lock-free, except that a push waits while another thread's pop still holds a node.
/// Never allocates after construction, because bounded_push uses only preallocated nodes.
class boost_index_list final : public index_list {
 public:
  /// Throws std::bad_alloc. Boost 1.74 then leaks the nodes that it has already allocated.
  boost_index_list(std::uint32_t nodes, slot_index first) : stack_(nodes), nodes_(nodes) {
    for (slot_index index = nodes; index > first; --index) {
      push(index - 1);
    }
  }

  void push(slot_index index) noexcept override {
    // Another thread may still hold the spare node for a moment, because its pop has read the value
    // but has not yet returned the node. There is one node for each index, so this push gets a node
    // in the end.
    while (!stack_.bounded_push(index)) {
    }
    // (1) - this release-fetch-add synchronizes-with the acquire-load (2)
    pushes_.fetch_add(1, std::memory_order_release);
  }

  void push_chain(std::span<const slot_index> chain) noexcept override {
    for (std::size_t i = chain.size(); i > 0; --i) {
      push(chain[i - 1]);
    }
  }

  [[nodiscard]] slot_index pop() noexcept override {
    slot_index index = null_slot;
    return stack_.pop(index) ? index : null_slot;
  }

  [[nodiscard]] std::uint32_t pop_chain(std::span<slot_index> out) noexcept override {
    std::uint32_t count = 0;
    while (count < out.size() && stack_.pop(out[count])) {
      ++count;
    }
    return count;
  }

  [[nodiscard]] bool empty() const noexcept override { return stack_.empty(); }

  [[nodiscard]] std::uint64_t version() const noexcept override {
    // (2) - this acquire-load synchronizes-with the release-fetch-add (1)
    return pushes_.load(std::memory_order_acquire);
  }

  [[nodiscard]] std::size_t memory() const noexcept override { return bytes_needed(nodes_); }
  [[nodiscard]] static std::size_t bytes_needed(std::uint32_t nodes) noexcept {
    return nodes * cache_line;  // Boost pads each node to a cache line
  }

 private:
  boost::lockfree::stack<slot_index> stack_;
  std::uint32_t nodes_;
  alignas(no_false_sharing) atomic<std::uint64_t> pushes_{0};
};

class boost_shared_list final : public shared_list {
 public:
  [[nodiscard]] bool can_grow() const noexcept override { return false; }
  [[nodiscard]] std::size_t bytes_needed(std::uint32_t nodes) const noexcept override {
    return boost_index_list::bytes_needed(nodes);
  }

  [[nodiscard]] std::unique_ptr<index_list> make(std::uint32_t nodes, slot_index first,
                                                 growth /*kind*/) const override {
    return std::make_unique<boost_index_list>(nodes, first);
  }
};

}  // namespace detail

/// Returns the value for the option `list` of a pool that does not grow.
[[nodiscard]] inline const shared_list* boost_list() noexcept {
  static constexpr detail::boost_shared_list list;
  return &list;
}

}  // namespace lido::inline v0
