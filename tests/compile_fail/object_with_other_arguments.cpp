#include "lido/object_pool.hpp"

struct job {
  explicit job(int number);
};

void object_with_other_arguments(lido::object_pool<job>& jobs) {
  (void)jobs.acquire(7, 8);
}
