// Finds out which part of a program does not release its jobs.
#include <exception>
#include <iostream>
#include <lido/checked.hpp>

struct job {
  int id = 0;
};

// [snippet]
using job_pool = lido::object_pool<job, lido::checked_traits<job>>;

void run(job_pool& jobs, int id) {
  job* const one = jobs.try_acquire_ptr(id);
  if (id == 7) {
    return;  // the mistake
  }
  jobs.release(one);
}

void list(job_pool& jobs) {  // while no other thread releases jobs
  jobs.for_each_in_use([](const job& one) { std::cout << "in use: job " << one.id << '\n'; });
}

void report(const lido::misuse& what) noexcept {  // the default prints the report and aborts
  std::cout << what.pool_name << ": " << to_string(what.kind) << " of " << what.count << '\n';
  std::clog << what.report;  // the thread and the code address that acquired each object
}
// [/snippet]

int main() try {
  lido::set_misuse_handler(&report);
  job_pool jobs{{.capacity = 100, .name = "jobs"}};
  for (int id = 1; id <= 10; ++id) {
    run(jobs, id);
  }
  list(jobs);
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   in use: job 7
//   jobs: leak of 1
