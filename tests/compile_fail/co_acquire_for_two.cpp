#include <stop_token>

#include "lido/lido.hpp"

struct job {
  explicit job(int number);
  job(std::stop_token stop, int number);
};
void run(lido::object_pool<job>& pool, std::stop_token stop) {
  auto mine = pool.co_acquire(stop, 7);
}
