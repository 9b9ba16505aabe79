// For code that keeps its own pointers: one at a time, out of a lease, and many at once.
#include <array>
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <span>

struct particle {
  float x = 0;
  float y = 0;
};

int main() try {
  // [snippet]
  lido::object_pool<particle> particles{64};

  particle* spark = particles.try_acquire_ptr(1.0F, 2.0F);  // nullptr when none is free
  particles.release(spark);                                 // from any thread, never throws

  lido::lease<particle> ember = particles.acquire();
  particle* kept = ember.detach();  // the lease lets go, the particle stays acquired
  std::cout << "owns it: " << particles.owns(kept) << ", in use: " << particles.stats().in_use;
  particles.release(kept);

  std::array<particle*, 100> burst{};
  const std::size_t got = particles.try_acquire_n(burst);  // as many as there are
  std::cout << "\nasked for " << burst.size() << ", got " << got << '\n';
  particles.release_n(std::span(burst).first(got));
  // [/snippet]
  std::cout << "in use: " << particles.stats().in_use << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   owns it: 1, in use: 1
//   asked for 100, got 64
//   in use: 0
