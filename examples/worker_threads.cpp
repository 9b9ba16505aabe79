// A job is acquired in one thread and released in another, and no slot is lost.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct job {
  int number = 0;
  int answer = 0;
};

int main() try {
  // [snippet]
  lido::object_pool<job> jobs{{.capacity = 100, .name = "jobs"}};

  std::vector<lido::lease<job>> batch;
  batch.reserve(jobs.capacity());
  for (int i = 0; i < 100; ++i) {
    batch.push_back(jobs.acquire(job{.number = i}));  // acquired by this thread
  }

  int sum = 0;
  std::jthread worker([work = std::move(batch), &sum]() mutable {
    for (lido::lease<job>& one : work) {
      one->answer = one->number * 2;
      sum += one->answer;
      one.reset();  // released by the worker
    }
  });
  worker.join();

  std::cout << "sum " << sum << ", in use " << jobs.stats().in_use << '\n';
  // [/snippet]
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   sum 9900, in use 0
