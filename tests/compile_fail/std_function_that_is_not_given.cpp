#include <functional>

#include "lido/lido.hpp"

using handler = std::function<lido::exhaustion_answer(const lido::exhaustion&)>;

void std_function_that_is_not_given() {
  lido::object_pool<int, lido::policy::on_exhausted<handler>> pool(4);
}
