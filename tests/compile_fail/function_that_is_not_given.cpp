#include "lido/lido.hpp"

using handler = lido::exhaustion_answer (*)(const lido::exhaustion& what);

void function_that_is_not_given() {
  lido::object_pool<int, lido::policy::on_exhausted<handler>> pool(4);
}
