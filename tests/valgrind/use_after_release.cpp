// Uses of a checked pool for Valgrind to judge: `correct`, `read` or `write` after release, or
// `fresh`, a read of memory that was never written.
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "lido/checked.hpp"

namespace {

using block = std::array<long, 8>;

int use(std::string_view how) {
  lido::object_pool<block, lido::checked_traits<block>> pool({.capacity = 16, .name = "jobs"});
  block* const object = pool.try_acquire_ptr(lido::default_init);
  if (how != "fresh") {
    object->fill(1);
  }
  const bool odd = (*object)[3] % 2 != 0;
  std::puts(odd ? "odd" : "even");
  pool.release(object);
  if (how == "read") {
    std::puts((*object)[3] > 1 ? "more" : "less");
  }
  if (how == "write") {
    (*object)[3] = 2;
    (*object)[3] = 0x1DEADB0B1DEADB0B;  // the same value: the fill alone would not show it
  }
  pool.release(pool.try_acquire_ptr());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return use(count > 1 ? arguments[1] : "correct");
}
