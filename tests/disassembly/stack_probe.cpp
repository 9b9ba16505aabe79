// The library's own stack, compiled as the depot compiles it, and a hit in a locked cache, for
// arm64.py to look at.
#include "lido/freelist/treiber_stack.hpp"
#include "lido/magazine/thread_cache.hpp"

using stack = lido::detail::treiber_stack<>;

extern "C" lido::detail::slot_index probe_pop(stack& from) {
  return from.pop();
}

extern "C" void probe_push(stack& to, lido::detail::slot_index index) {
  to.push(index);
}

extern "C" void* probe_pop_locked(lido::detail::thread_cache& from) {
  return from.pop_locked();
}
