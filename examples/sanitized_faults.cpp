// Mistakes for sanitizers to find. Usage: sanitized_faults [MISTAKE]
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <map>
#include <string>
#include <thread>

struct job {
  long number = 0;
};
using job_pool = lido::object_pool<job>;

// [snippet]
void read_after_release(job_pool& jobs) {
  job* const one = jobs.try_acquire_ptr(1);
  jobs.release(one);
  std::cout << one->number << '\n';
}

void release_twice(job_pool& jobs) {
  job* const one = jobs.try_acquire_ptr(1);
  jobs.release(one);
  jobs.release(one);
}

void ignore_a_full_pool(job_pool& jobs) {
  const auto first = jobs.acquire(1);
  const auto second = jobs.try_acquire(2);  // empty: the pool has only one slot
  std::cout << second->number << '\n';
}

void release_too_early(job_pool& jobs) {
  job* const one = jobs.try_acquire_ptr(1);
  const std::jthread other([one] { one->number = 2; });
  jobs.release(one);                  // the other thread may not have finished
  const auto next = jobs.acquire(3);  // the same slot
}
// [/snippet]

int main(int count, char** arguments) try {
  const std::map<std::string, void (*)(job_pool&)> mistakes = {
      {"read_after_release", read_after_release},
      {"release_twice", release_twice},
      {"ignore_a_full_pool", ignore_a_full_pool},
      {"release_too_early", release_too_early},
  };
  job_pool jobs{{.capacity = 1, .name = "jobs"}};
  if (count > 1) {
    mistakes.at(arguments[1])(jobs);
  }
  std::cout << "the end\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   the end
