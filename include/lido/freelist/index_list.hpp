/// @file
/// Internal. The interface of a shared free list: a LIFO of indices that any thread may use.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/zeroed_array.hpp"

namespace lido::inline v0 {
namespace detail {

/// A list of indices from 0 to nodes - 1. It contains each index at most once. All operations are
/// thread-safe. None of them allocates after construction.
class index_list {
 public:
  index_list() = default;
  index_list(const index_list&) = delete;
  index_list& operator=(const index_list&) = delete;
  virtual ~index_list() = default;

  virtual void push(slot_index index) noexcept = 0;
  /// Pushes all of `chain`, with its first element on top.
  virtual void push_chain(std::span<const slot_index> chain) noexcept = 0;
  /// Pops the top index and returns it. Returns null_slot if the list is empty.
  [[nodiscard]] virtual slot_index pop() noexcept = 0;
  /// Pops up to out.size() indices. Returns the number of popped indices.
  [[nodiscard]] virtual std::uint32_t pop_chain(std::span<slot_index> out) noexcept = 0;

  [[nodiscard]] virtual bool empty() const noexcept = 0;
  /// Returns a number that changes only with pushes. If empty() returned true between two calls
  /// that gave equal versions, the list stayed empty from then until the second call. The versions
  /// of two lists may be added.
  [[nodiscard]] virtual std::uint64_t version() const noexcept = 0;
  /// Returns the number of bytes that the list owns in addition to the object itself.
  [[nodiscard]] virtual std::size_t memory() const noexcept = 0;

  /// Adds links for the indices below `nodes`. Other operations may run at the same time, but only
  /// one thread may call this. Returns 0, or the system's error number; after an error the list is
  /// unchanged.
  [[nodiscard]] virtual int extend_to(std::uint32_t /*nodes*/) noexcept { return ENOTSUP; }

  /// Removes all indices, and then stores those from `first` to nodes - 1, the lowest on top.
  /// Requires: `nodes` is the number of nodes, and no other thread uses the list.
  void restart(slot_index first, std::uint32_t nodes) noexcept {
    while (pop() != null_slot) {
    }
    while (nodes > first) {
      push(--nodes);
    }
  }
};

}  // namespace detail

/// A free list that a pool can use instead of Lido's own.
class shared_list {
 public:
  shared_list() = default;
  shared_list(const shared_list&) = delete;
  shared_list& operator=(const shared_list&) = delete;

  /// Returns true if pools that grow can use this list.
  [[nodiscard]] virtual bool can_grow() const noexcept = 0;

  /// Returns the `memory()` of a list with links for `nodes` indices.
  [[nodiscard]] virtual std::size_t bytes_needed(std::uint32_t nodes) const noexcept = 0;

  /// Makes a list with the indices from `first` to nodes - 1, the lowest on top. A list that grows
  /// has no links at first. Throws std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<detail::index_list> make(std::uint32_t nodes,
                                                                 detail::slot_index first,
                                                                 detail::growth kind) const = 0;

 protected:
  ~shared_list() = default;
};

}  // namespace lido::inline v0
