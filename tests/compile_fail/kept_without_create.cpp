#include "lido/lido.hpp"

struct needs_a_port {
  explicit needs_a_port(int port);
};
lido::object_pool<needs_a_port, lido::policy::keep_constructed<>> pool(4);
