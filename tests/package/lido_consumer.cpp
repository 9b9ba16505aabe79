// A user's first program, built against Lido in each of the ways a user can get it.
#include <lido/keyed_resource_pool.hpp>
#include <lido/lido.hpp>

#include <cstdio>

namespace {

struct job {
  int x = 0;
};

}  // namespace

int main() {
  lido::object_pool<job> jobs{16};
  job* const raw = jobs.try_acquire_ptr();
  if (raw == nullptr) {
    return 1;
  }
  jobs.release(raw);
  auto lease = jobs.try_acquire();
  if (!lease) {
    return 1;
  }
  lease->x = 1;
  lido::keyed_resource_pool<int, job> workers([](const int& key) { return job{key}; });
  if (workers.at(7).acquire()->x != 7) {
    return 1;
  }
  std::printf("acquired from a pool of %zu\n", jobs.capacity());
  return lease->x == 1 ? 0 : 1;
}
