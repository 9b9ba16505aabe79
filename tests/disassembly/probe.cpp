// Calls of a user, compiled as a user compiles them, for hit_path.py to inspect.
#include <array>
#include <cstdint>

#include "lido/block_resource.hpp"
#include "lido/object_pool.hpp"

struct payload {
  std::array<std::uint64_t, 8> words;
};

using pool = lido::object_pool<payload>;

static_assert(sizeof(payload) == 64);

struct keeping_traits : lido::pool_traits<payload> {
  using hooks = lido::keep;
};
using keeping_pool = lido::object_pool<payload, keeping_traits>;

struct counting_traits : lido::pool_traits<payload> {
  static constexpr bool counts = true;
};
using counting_pool = lido::object_pool<payload, counting_traits>;

extern "C" payload* probe_acquire(pool& from) {
  return from.try_acquire_ptr(lido::default_init);
}

extern "C" void probe_release(pool& to, payload* object) {
  to.release(object);
}

extern "C" payload* probe_acquire_counted(counting_pool& from) {
  return from.try_acquire_ptr(lido::default_init);
}

extern "C" payload* probe_acquire_kept(keeping_pool& from) {
  return from.try_acquire_ptr();
}

extern "C" void probe_release_kept(keeping_pool& to, payload* object) {
  to.release(object);
}

extern "C" payload* probe_allocate(lido::block_allocator<payload>& from) {
  return from.allocate(1);
}

extern "C" void probe_deallocate(lido::block_allocator<payload>& to, payload* object) {
  to.deallocate(object, 1);
}
