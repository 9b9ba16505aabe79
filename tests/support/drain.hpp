/// @file
/// Acquires everything that a pool contains, in order to check it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lido::test {

/// Acquires until the pool is exhausted.
template <class Pool>
std::vector<typename Pool::value_type*> drain(Pool& pool) {
  std::vector<typename Pool::value_type*> all;
  while (auto* const object = pool.try_acquire_ptr()) {
    all.push_back(object);
  }
  return all;
}

template <class Pool>
void release_all(Pool& pool, const std::vector<typename Pool::value_type*>& objects) {
  for (auto* const object : objects) {
    pool.release(object);
  }
}

template <class Element>
[[nodiscard]] std::size_t count_distinct(std::vector<Element> elements) {
  std::sort(elements.begin(), elements.end());
  return static_cast<std::size_t>(std::unique(elements.begin(), elements.end()) - elements.begin());
}

/// Returns how many different objects can be in use at once, and releases them afterwards.
template <class Pool>
[[nodiscard]] std::size_t count_acquirable(Pool& pool) {
  const auto all = drain(pool);
  const std::size_t count = count_distinct(all);
  release_all(pool, all);
  return count;
}

/// Fills the calling thread's cache as far as possible: acquires many objects, and then releases
/// them.
template <class Pool>
void fill_own_cache(Pool& pool, std::size_t most) {
  std::vector<typename Pool::value_type*> held;
  for (std::size_t i = 0; i < most; ++i) {
    if (auto* const object = pool.try_acquire_ptr()) {
      held.push_back(object);
    }
  }
  release_all(pool, held);
}

}  // namespace lido::test
