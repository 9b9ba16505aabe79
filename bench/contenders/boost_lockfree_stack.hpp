/// @file
/// boost::lockfree::stack of pointers.
///
/// fixed_sized: nodes come from an array and are linked by 16-bit indices, so that neither call can
/// reach the allocator.
#pragma once

#include <boost/lockfree/stack.hpp>

#include "queued_pool.hpp"

namespace lido_bench {

struct boost_lockfree_stack_pointers {
  explicit boost_lockfree_stack_pointers(const sizing& size) : stack{size.capacity} {}
  [[gnu::always_inline]] bool take(void*& object) { return stack.pop(object); }
  [[gnu::always_inline]] void give(void* object) { stack.bounded_push(object); }

  boost::lockfree::stack<void*, boost::lockfree::fixed_sized<true>> stack;
};

template <std::size_t Bytes>
struct boost_lockfree_stack : queued_pool<Bytes, boost_lockfree_stack_pointers> {
  static constexpr std::string_view name{"boost_lockfree_stack"};
  using queued_pool<Bytes, boost_lockfree_stack_pointers>::queued_pool;
};

}  // namespace lido_bench
