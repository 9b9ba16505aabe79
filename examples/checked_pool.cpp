// A pool that finds its users' mistakes, and a handler that reports them and lets the program
// continue.
#include <exception>
#include <iostream>
#include <lido/checked.hpp>

struct job {
  int id = 0;
};

// [snippet]
using job_pool = lido::object_pool<job, lido::checked_traits<job>>;

void tell(const lido::misuse& what) noexcept {
  std::cout << what.pool_name << ": " << lido::to_string(what.kind) << '\n';
}

void make_mistakes() {
  job_pool jobs{{.capacity = 8, .name = "jobs"}};
  job_pool particles{{.capacity = 8, .name = "particles"}};

  job* done = jobs.try_acquire_ptr(1);
  jobs.release(done);
  jobs.release(done);  // has no effect but the report

  job* spark = particles.try_acquire_ptr(2);
  jobs.release(spark);  // neither has this: the object stays alive in its own pool
  particles.release(spark);
}
// [/snippet]

int main() try {
  lido::set_misuse_handler(&tell);  // without it the first mistake ends the program
  make_mistakes();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   jobs: double release
//   jobs: wrong pool
