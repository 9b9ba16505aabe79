#include "lido/lido.hpp"

struct handler {
  bool operator()(const lido::exhaustion& what) const { return what.attempt < 3; }
};

void handler_that_answers_wrongly(
    lido::object_pool<int, lido::policy::on_exhausted<handler>>& pool) {
  auto one = pool.acquire();
  *one = 1;
}
