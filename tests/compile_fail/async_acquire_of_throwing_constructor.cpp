#include <string>

#include "lido/lido.hpp"

void run(lido::object_pool<std::string>& pool) {
  pool.async_acquire([](const lido::lease<std::string>&) {}, "may not fit");
}
