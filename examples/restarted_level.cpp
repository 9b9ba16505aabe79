// Particles of a level of a game: when the level restarts, all of them go at once.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>

struct particle {
  float x = 0;
  float y = 0;
};

int main() try {
  lido::object_pool<particle> particles{{.capacity = 10'000, .name = "particles"}};
  for (int level = 1; level <= 2; ++level) {
    for (int i = 0; i < 3000; ++i) {
      // The level owns its particles together, so no lease releases them one by one.
      if (particle* const one = particles.try_acquire_ptr(1.0F, 2.0F); one != nullptr) {
        one->x += 1;
      }
    }
    std::cout << "level " << level << ": " << particles.stats().in_use << " in use\n";
    // [snippet]
    // All threads have finished the level. From here on, no pointer to a particle is valid.
    particles.release_all();
    // [/snippet]
    std::cout << "afterwards: " << particles.stats().in_use << " in use\n";
  }
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   level 1: 3000 in use
//   afterwards: 0 in use
//   level 2: 3000 in use
//   afterwards: 0 in use
