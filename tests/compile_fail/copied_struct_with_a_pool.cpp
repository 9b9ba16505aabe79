#include <utility>

#include "lido/object_pool.hpp"

struct level {
  lido::object_pool<int> pool{{.capacity = 10}};
};

level copied_struct_with_a_pool(level& current) {
  return std::move(current);
}
