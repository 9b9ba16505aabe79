#include "lido/lido.hpp"

struct needs_a_port {
  explicit needs_a_port(int port);
};
struct traits : lido::pool_traits<needs_a_port> {
  using hooks = lido::keep;
};
lido::object_pool<needs_a_port, traits> pool(4);
