// The library's own list, compiled as the depot compiles it, and a hit in a locked cache, for
// arm64.py to look at.
#include "lido/freelist/treiber_list.hpp"
#include "lido/magazine/thread_cache.hpp"

using list = lido::detail::treiber_list;

extern "C" lido::detail::slot_index probe_pop(list& from) {
  return from.pop();
}

extern "C" void probe_push(list& to, lido::detail::slot_index index) {
  to.push(index);
}

extern "C" void* probe_pop_locked(lido::detail::thread_cache& from) {
  return from.pop_locked();
}
