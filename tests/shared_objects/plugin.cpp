// A shared object with hidden visibility that uses Lido only inside.
#include "plugin.hpp"

#include <array>
#include <vector>

#include "lido/object_pool.hpp"

namespace {

struct owned {
  unsigned owner;
};
using pool_type = lido::object_pool<owned>;

/// Replaces the owner. The last write must survive optimisation, though the object's life ends with
/// it.
unsigned replace_owner(owned& object, unsigned me) {
  const unsigned before = object.owner;
  object.owner = me;
  asm volatile("" : : "r"(&object) : "memory");
  return before;
}

pool_type& as_pool(void* pool) {
  return *static_cast<pool_type*>(pool);
}

void* make_pool(std::size_t capacity) {
  auto* const pool = new pool_type(capacity);
  std::vector<owned*> all(capacity);
  pool->release_n(std::span(all).first(pool->try_acquire_n(all)));  // no object has an owner now
  return pool;
}

void destroy_pool(void* pool) {
  delete &as_pool(pool);
}

std::size_t use_once(void* pool) {
  as_pool(pool).release(as_pool(pool).try_acquire_ptr(lido::default_init));
  return lido::detail::own_thread_offset() / lido::detail::thread_stride;
}

bool work(void* pool, unsigned me, unsigned bursts) {
  std::array<owned*, 12> held{};
  bool alone = true;
  for (unsigned burst = 0; burst < bursts; ++burst) {
    for (owned*& object : held) {
      object = as_pool(pool).try_acquire_ptr(lido::default_init);
      if (object != nullptr) {
        alone = replace_owner(*object, me) == 0 && alone;
      }
    }
    for (owned* const object : held) {
      if (object != nullptr) {
        alone = replace_owner(*object, 0) == me && alone;
        as_pool(pool).release(object);
      }
    }
  }
  return alone;
}

std::size_t count_acquirable(void* pool) {
  std::vector<owned*> all;
  while (owned* const object = as_pool(pool).try_acquire_ptr(lido::default_init)) {
    all.push_back(object);
  }
  as_pool(pool).release_n(all);
  return all.size();
}

std::size_t open_caches(void* pool) {
  return as_pool(pool).stats().open_caches;
}

constexpr plugin functions{make_pool, destroy_pool, use_once, work, count_acquirable, open_caches};

}  // namespace

// The only export.
extern "C" [[LIDO_VISIBLE]] const plugin* lido_test_plugin();
extern "C" const plugin* lido_test_plugin() {
  return &functions;
}
