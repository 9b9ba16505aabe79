#include "lido/lido.hpp"

struct traits {
  static constexpr bool track_in_use = true;
  static constexpr bool checked = false;
};
lido::object_pool<int, traits> pool(4);
