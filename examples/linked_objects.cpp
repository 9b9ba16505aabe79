// Jobs in a list that is linked through the jobs themselves, released without an array of pointers.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <string>

struct job {
  std::string name;
  job* next = nullptr;
};

// [snippet]
/// The jobs from `head` on, as a range of pointers.
struct jobs_from {
  struct iterator {
    job* at;
    job* operator*() const { return at; }
    iterator& operator++() {
      at = at->next;  // NOLINT(clang-analyzer-core.NullDereference): not beyond the end
      return *this;
    }
    bool operator==(const iterator& other) const { return at == other.at; }
  };
  job* head;
  [[nodiscard]] iterator begin() const { return {head}; }
  [[nodiscard]] static iterator end() { return {nullptr}; }
};

int main() try {
  lido::object_pool<job> pool{{.capacity = 100, .name = "jobs"}};
  job* finished = nullptr;
  for (const char* const name : {"load", "decode", "draw"}) {
    finished = pool.try_acquire_ptr(name, finished);
  }
  pool.release_n(jobs_from{finished});  // reads each link before it destroys the job
  std::cout << "in use: " << pool.stats().in_use << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
// [/snippet]

// Prints:
//   in use: 0
