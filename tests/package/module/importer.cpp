// Imports Lido, beside some of its headers, and shares a pool with a file that only includes it.
#include <lido/slot_map.hpp>
#include <lido/version.hpp>

#include <sstream>
#include <unordered_set>

import lido;

#include "../every_kind.hpp"
#include "shared.hpp"

int main() {
  use_every_kind();

  lido::object_pool<int> pool({.capacity = 1, .name = "shared"});
  require(numbers_of_included(pool) == 42, "a pool that was made by an importer");
  const lido::lease<int> held = pool.acquire(1);
  require(catch_exhausted(pool) == 1, "an exception of a file that includes Lido");

  // Names found only by argument-dependent lookup: operators, and what the standard library calls.
  std::ostringstream text;
  text << pool.stats();
  require(text.str().find('1') != std::string::npos, "statistics as text");
  lido::slot_map<int> map;
  std::unordered_set<lido::slot_handle<int>> handles;
  const lido::slot_handle<int> handle = map.insert(1);
  handles.insert(handle);
  require(handles.contains(handle), "a handle with a hash");
  std::printf("imported Lido %d\n", LIDO_VERSION);
  return 0;
}
