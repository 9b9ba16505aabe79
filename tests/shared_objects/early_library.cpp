// A library that the program needs, and that contains no Lido: the program exports one. So its
// static objects are constructed before those of that Lido.
#include "early.hpp"

lido::object_pool<int>& pool_of_library() {
  static lido::object_pool<int> pool({.capacity = 256, .name = "library"});
  return pool;
}

namespace {

[[maybe_unused]] const bool is_used = (use_early(pool_of_library()), true);

}  // namespace
