#include "lido/debug/slot_shadow.hpp"

#if defined(LIDO_VALGRIND) && LIDO_VALGRIND
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed) (void)pool
#define VALGRIND_DESTROY_MEMPOOL(pool) (void)pool
#define VALGRIND_MEMPOOL_ALLOC(pool, slot, size) (void)pool, (void)slot, (void)size
#define VALGRIND_MEMPOOL_FREE(pool, slot) (void)pool, (void)slot
#define VALGRIND_MAKE_MEM_NOACCESS(first, bytes) (void)first, (void)bytes
#define VALGRIND_MAKE_MEM_DEFINED(first, bytes) (void)first, (void)bytes
#endif

namespace lido::detail {

block_shadow::block_shadow(const std::byte* first, std::size_t size, std::size_t bytes) noexcept
    : first_(first), size_(size), bytes_(bytes), active_(LIDO_POISON_FREE_SLOTS != 0) {
  poison(first_, bytes_);
}

block_shadow::~block_shadow() {
  unpoison(first_, bytes_);
}

bool under_valgrind() noexcept {
  return RUNNING_ON_VALGRIND != 0;
}

void valgrind_create_pool(const void* pool, const void* first, std::size_t bytes) noexcept {
  VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
  VALGRIND_MAKE_MEM_NOACCESS(first, bytes);
}

void valgrind_destroy_pool(const void* pool, const void* first, std::size_t bytes) noexcept {
  VALGRIND_DESTROY_MEMPOOL(pool);
  VALGRIND_MAKE_MEM_DEFINED(first, bytes);
}

void valgrind_peek(const void* slot, std::size_t size) noexcept {
  VALGRIND_MAKE_MEM_DEFINED(slot, size);
}

void valgrind_acquire(const void* pool, const void* slot, std::size_t size) noexcept {
  VALGRIND_MEMPOOL_ALLOC(pool, slot, size);
}

void valgrind_release(const void* pool, const void* slot) noexcept {
  VALGRIND_MEMPOOL_FREE(pool, slot);
}

}  // namespace lido::detail
