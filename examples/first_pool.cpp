// A pool of jobs, a lease that returns its job, and what happens when none is left.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <string>
#include <utility>

struct job {
  explicit job(std::string what) : title(std::move(what)) {}
  void run() const { std::cout << "running: " << title << '\n'; }
  std::string title;
};

int main() try {
  // [snippet]
  lido::object_pool<job> jobs{{.capacity = 2, .name = "jobs"}};

  const lido::lease<job> physics = jobs.acquire("physics");  // throws when none is free
  physics->run();
  {
    const lido::lease<job> audio = jobs.try_acquire("audio");  // never throws for that
    audio->run();
    if (!jobs.try_acquire("network")) {
      std::cout << "all " << jobs.capacity() << " jobs are in use\n";
    }
  }  // audio goes back here

  std::cout << jobs.name() << ": " << jobs.stats().in_use << " in use\n";
  // [/snippet]
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   running: physics
//   running: audio
//   all 2 jobs are in use
//   jobs: 1 in use
