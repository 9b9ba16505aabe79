// Pools that are checked in debug builds only.
#include <exception>
#include <iostream>

// [snippet]
#include <lido/lido.hpp>  // has lido/checked.hpp

#ifdef NDEBUG
template <class T>
using pool = lido::object_pool<T>;
#else
template <class T>
using pool = lido::object_pool<T, lido::checked_traits<T>>;
#endif

struct job {
  int id = 0;
};

void run() {
  pool<job> jobs{{.capacity = 4096, .name = "jobs"}};
  const auto one = jobs.acquire(7);  // pool<job>::lease_type
  std::cout << "job " << one->id << '\n';
}
// [/snippet]

int main() try { run(); } catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   job 7
