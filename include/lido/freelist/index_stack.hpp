/// @file
/// Internal. What a shared free list must offer: a LIFO of indices that any thread may use.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "lido/base/slot_index.hpp"

namespace lido::detail {

/// A stack over the indices 0 to nodes - 1, each at most once in it. Starts empty. All operations
/// are thread-safe and never throw; none allocates after construction.
///
/// `version()` grows by one with every push and with nothing else. Two equal versions with
/// `empty()` true between them therefore prove that the stack stayed empty from then to the second,
/// and the versions of two stacks may be added.
template <class S>
concept index_stack = std::constructible_from<S, std::uint32_t> &&
    requires(S& stack, const S& view, slot_index index, std::span<slot_index> out,
             std::span<const slot_index> in) {
  { stack.push(index) }
  noexcept;
  { stack.push_chain(in) }
  noexcept;
  { stack.pop() }
  noexcept->std::same_as<slot_index>;
  { stack.pop_chain(out) }
  noexcept->std::same_as<std::uint32_t>;
  { view.empty() }
  noexcept->std::same_as<bool>;
  { view.version() }
  noexcept->std::same_as<std::uint64_t>;
  { view.memory() }
  noexcept->std::same_as<std::size_t>;
};

/// A stack that has room for no index at first. `extend_to(n)` makes room for the indices below n,
/// beside any other operation. It returns 0, or the system's error number, and then has changed
/// nothing. Room never shrinks. One thread at a time may extend it.
template <class S>
concept growing_index_stack = index_stack<S> && requires(S& stack, std::uint32_t nodes) {
  { stack.extend_to(nodes) }
  noexcept->std::same_as<int>;
};

}  // namespace lido::detail
