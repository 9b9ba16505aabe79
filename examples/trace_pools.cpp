// A trace of what pools do, for Perfetto. Needs the target lido::trace.
// [snippet]
#include <iostream>
#include <lido/object_pool.hpp>
#include <lido/registry.hpp>
#include <lido/trace.hpp>
#include <sstream>
#include <vector>

int main() {
  std::ostringstream file;  // usually a std::ofstream
  lido::registry pools;     // or lido::registry::global(), which needs no argument of the trace
  {
    lido::trace recording(file, pools);
    lido::object_pool<int> jobs{{.capacity = 100, .name = "jobs", .registry = &pools}};
    std::vector<lido::lease<int>> held;
    for (int frame = 0; frame < 3; ++frame) {
      held.push_back(jobs.acquire(frame));
      recording.drain();  // adds a point to the curves of each pool
    }
  }  // writes the end of the file
  std::cout << "a refill: " << (file.str().find("\"refill\"") != std::string::npos) << '\n';
  std::cout << "a curve: " << (file.str().find("\"jobs#1\"") != std::string::npos) << '\n';
}
// [/snippet]

// Prints:
//   a refill: 1
//   a curve: 1
