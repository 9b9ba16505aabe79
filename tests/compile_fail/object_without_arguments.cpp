#include "lido/object_pool.hpp"

struct job {
  explicit job(int number);
};

void object_without_arguments(lido::object_pool<job>& jobs) {
  (void)jobs.acquire();
}
