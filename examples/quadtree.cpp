// A quadtree of pooled nodes that refer to each other by 32-bit indices, half the size of pointers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>

struct node {
  static constexpr std::uint32_t none = UINT32_MAX;
  std::array<std::uint32_t, 4> children{none, none, none, none};
};
using node_pool = lido::object_pool<node>;

// [snippet]
/// Adds four children, or none if there are not enough nodes.
bool split(node_pool& nodes, std::uint32_t parent) {
  std::array<node*, 4> made{};
  if (!nodes.try_acquire_all(made)) {
    return false;
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    nodes.at(parent).children[i] = nodes.index_of(made[i]);
  }
  return true;
}

/// Removes the children, which must have none themselves.
void merge(node_pool& nodes, std::uint32_t parent) {
  std::array<node*, 4> children{};
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i] = &nodes.at(nodes.at(parent).children[i]);
  }
  nodes.release_n(children);
  nodes.at(parent) = {};
}
// [/snippet]

int main() try {
  node_pool nodes{{.capacity = 7, .name = "nodes"}};
  const lido::lease<node> top = nodes.acquire();
  const std::uint32_t root = nodes.index_of(top.get());
  std::cout << split(nodes, root);
  std::cout << split(nodes, nodes.at(root).children[0]) << '\n';  // two nodes are left
  merge(nodes, root);
  std::cout << "in use: " << nodes.stats().in_use << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   10
//   in use: 1
