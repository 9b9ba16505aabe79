#include "lido/debug/valgrind.hpp"

#if defined(LIDO_VALGRIND) && LIDO_VALGRIND

#include <valgrind/memcheck.h>

namespace lido::detail {

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

void valgrind_release(const void* pool, const void* slot, std::size_t /*size*/) noexcept {
  VALGRIND_MEMPOOL_FREE(pool, slot);
}

}  // namespace lido::detail

#else

namespace lido::detail {

bool under_valgrind() noexcept {
  return false;
}
void valgrind_create_pool(const void* /*pool*/, const void* /*first*/,
                          std::size_t /*bytes*/) noexcept {}
void valgrind_destroy_pool(const void* /*pool*/, const void* /*first*/,
                           std::size_t /*bytes*/) noexcept {}
void valgrind_peek(const void* /*slot*/, std::size_t /*size*/) noexcept {}
void valgrind_acquire(const void* /*pool*/, const void* /*slot*/, std::size_t /*size*/) noexcept {}
void valgrind_release(const void* /*pool*/, const void* /*slot*/, std::size_t /*size*/) noexcept {}

}  // namespace lido::detail

#endif
