// Uses the installed target lido::trace.
#include <lido/object_pool.hpp>
#include <lido/trace.hpp>
#include <sstream>

int main() {
  std::ostringstream file;
  {
    const lido::trace recording(file);
    lido::object_pool<int> pool{{.capacity = 1000, .name = "jobs"}};
    if (*pool.acquire(7) != 7)
      return 1;
  }
  return file.str().find("jobs") != std::string::npos ? 0 : 1;
}
