// A file that includes Lido, in a program whose other file imports it.
#include <lido/lido.hpp>

#include "shared.hpp"

int numbers_of_included(lido::object_pool<int>& pool) {
  const int first = *pool.acquire(30);
  return first + *pool.acquire(12);
}

int catch_exhausted(lido::object_pool<int>& pool) {
  try {
    const lido::lease<int> one = pool.acquire(1);
    return *one;
  } catch (const lido::pool_exhausted& failure) {
    return static_cast<int>(failure.capacity());
  }
}
