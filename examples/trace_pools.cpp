// A trace of what pools do, for Perfetto. Needs the target lido::trace.
// [snippet]
#include <iostream>
#include <lido/object_pool.hpp>
#include <lido/trace.hpp>
#include <sstream>

int main() {
  std::ostringstream file;  // usually a std::ofstream
  {
    lido::trace recording(file);
    lido::object_pool<int> jobs{{.capacity = 100, .name = "jobs"}};
    auto job = jobs.acquire(1);
    recording.drain();  // now and then
  }                     // writes the end of the file
  std::cout << "a refill: " << (file.str().find("\"refill\"") != std::string::npos) << '\n';
}
// [/snippet]

// Prints:
//   a refill: 1
