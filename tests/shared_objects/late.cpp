// Resource pools in static storage, which share threads: some are used and destroyed while the
// process exits, one is never destroyed, and one is made during the exit.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "lido/resource_pool.hpp"

namespace {

using pool_type = lido::resource_pool<int>;

std::unique_ptr<pool_type> make_pool() {
  return std::make_unique<pool_type>([] { return 1; },
                                     lido::resource_pool_options{.max_size = 4, .min_idle = 2});
}

void use(pool_type& pool) {
  if (!pool.try_acquire_for(std::chrono::seconds(10))) {
    (void)std::puts("BROKEN: a pool lends nothing while the process exits");
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

/// Uses its pool, and makes another one, in its destructor.
struct last_user {
  std::unique_ptr<pool_type> pool = make_pool();
  last_user() = default;
  last_user(const last_user&) = delete;
  last_user& operator=(const last_user&) = delete;
  ~last_user() {
    use(*pool);
    pool.reset();
    use(*make_pool());
    (void)std::puts("report: late");
  }
};

last_user last;
std::unique_ptr<pool_type> first = make_pool();

}  // namespace

int main(int argc, char** /*argv*/) {
  static pool_type* const endless = argc > 1 ? make_pool().release() : nullptr;
  if (endless != nullptr) {
    use(*endless);
  }
  use(*first);
  return EXIT_SUCCESS;
}
