// Handles of values that other threads construct later, and a map that is saved while it is const.
#include <iostream>
#include <lido/concurrent_slot_map.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using texture_map = lido::concurrent_slot_map<std::string>;

// [snippet]
/// Returns a handle at once, which a scene may store. A thread loads the texture later.
texture_map::handle_type load_later(texture_map& textures, std::vector<std::jthread>& loaders) {
  const auto handle = textures.reserve_handle();
  if (handle) {  // null if the map is full
    loaders.emplace_back([&textures, handle] {
      if (!textures.emplace_at(handle, "bricks")) {
        std::cout << "nobody wants the texture any more\n";  // the handle was given up
      }
    });
  }
  return handle;
}
// [/snippet]

int main() {
  texture_map textures(100);
  std::vector<std::jthread> loaders;
  const auto bricks = load_later(textures, loaders);
  const auto unwanted = textures.reserve_handle();
  textures.erase(unwanted);  // gives the handle up
  loaders.clear();           // joins the threads
  textures.read(bricks, [](const std::string& name) { std::cout << "texture: " << name << '\n'; });

  texture_map copy(100);
  copy.restore(std::as_const(textures).snapshot());  // no other thread uses the maps
  std::cout << "restored: " << std::boolalpha << copy.contains(bricks) << '\n';
}

// Prints:
//   texture: bricks
//   restored: true
