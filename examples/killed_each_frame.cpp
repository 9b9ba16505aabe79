// Particles that are moved, killed and sorted each frame, and lights that some of them have.
#include <exception>
#include <iostream>
#include <lido/slot_map.hpp>
#include <vector>

struct particle {
  float depth = 0;
  int frames_left = 0;
};

int main() try {
  lido::slot_map<particle> particles({.max_size = 1000});
  lido::secondary_map<particle, float> lights;  // few have one
  const std::vector<particle> burst{{3, 1}, {1, 5}, {2, 5}};
  const auto sparks = particles.insert_range(burst);
  lights.insert(sparks[1], 0.5F);
  std::vector<lido::slot_handle<particle>> hit{sparks[2]};
  // [snippet]
  particles.for_each([](particle& each) {  // moves all, kills those whose time is up
    each.depth += 0.5F;
    return --each.frames_left == 0 ? lido::step::erase : lido::step::next;
  });
  for (const auto handle : hit) {  // collected elsewhere: one that is gone already is refused
    if (const auto killed = particles.take(handle)) {
      particles.insert({killed->depth, 9});  // smoke where it was
    }
  }
  lights.erase_stale(particles);  // once a frame
  particles.sort([](const particle& a, const particle& b) { return a.depth > b.depth; });
  for (const particle& each : particles.values()) {  // from back to front
    std::cout << each.depth << '\n';
  }
  // [/snippet]
  std::cout << "light: " << *lights.find(sparks[1]) << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   2.5
//   1.5
//   light: 0.5
