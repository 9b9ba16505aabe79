// Uses the installed target lido::boost.
#include <lido/freelist/boost_list.hpp>
#include <lido/object_pool.hpp>

int main() {
  lido::object_pool<int> pool{{.capacity = 4, .list = lido::boost_list()}};
  return *pool.acquire(7) == 7 ? 0 : 1;
}
