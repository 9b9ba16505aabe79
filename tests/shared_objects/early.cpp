// Uses pools before the constructors of Lido have run: in an earlier constructor, and in one of a
// library that the program needs. Afterwards threads have caches.
#include "early.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

lido::object_pool<int>& pool_of_program() {
  static lido::object_pool<int> pool({.capacity = 256, .name = "program"});
  return pool;
}

[[gnu::constructor(500)]] void begin_early() {
  use_early(pool_of_program());
}

void require_caches(lido::object_pool<int>& pool, const char* whose) {
  use_early(pool);
  std::thread([&] {
    use_early(pool);
    const std::size_t caches = pool.stats().open_caches;
    (void)std::printf("report: pool=%s open_caches=%zu\n", whose, caches);
    if (caches != 2) {
      (void)std::puts("BROKEN: an early use has taken the caches away");
      (void)std::fflush(stdout);
      std::_Exit(EXIT_FAILURE);
    }
  }).join();
}

}  // namespace

int main() {
  require_caches(pool_of_program(), "program");
  require_caches(pool_of_library(), "library");
  return EXIT_SUCCESS;
}
