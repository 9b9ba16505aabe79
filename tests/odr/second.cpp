#include "odr/second.hpp"

#include "lido/lido.hpp"

namespace second {

lido::lease<int> acquire(lido::object_pool<int>& pool, int value) {
  return pool.acquire(value);
}

const std::size_t* thread_offset() {
  return &lido::detail::thread_offset;
}

}  // namespace second
