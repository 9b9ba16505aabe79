// Pools in containers, although a pool can be neither copied nor moved.
#include <deque>
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

struct particle {
  float x = 0;
};

int main() try {
  // [snippet]
  using pool = lido::object_pool<particle>;
  const lido::object_pool_options options{.capacity = 64};

  std::deque<pool> of_workers;  // in place of std::vector
  of_workers.emplace_back(options);

  std::map<std::string, pool> of_levels;
  of_levels.try_emplace("harbour", options);

  std::optional<pool> of_this_frame;  // made later, and destroyed by reset()
  of_this_frame.emplace(options);

  const auto owned = std::make_unique<pool>(options);  // a pointer to it can move
  // [/snippet]
  const auto all = {&of_workers.front(), &of_levels.at("harbour"), &*of_this_frame, owned.get()};
  for (pool* const one : all) {
    const auto lease = one->acquire();
    std::cout << one->stats().in_use << " of " << one->capacity() << '\n';
  }
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   1 of 64
//   1 of 64
//   1 of 64
//   1 of 64
