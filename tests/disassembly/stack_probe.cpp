// The library's own list, compiled as the depot compiles it, for arm64.py to inspect.
#include "../../src/freelist/treiber_list.hpp"

using list = lido::detail::treiber_list;

extern "C" lido::detail::slot_index probe_pop(list& from) {
  return from.pop();
}

extern "C" void probe_push(list& to, lido::detail::slot_index index) {
  to.push(index);
}
