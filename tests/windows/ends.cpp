// Ends while a thread is running in a module.
//
// Usage: ends MODULE.dll
#include <cstdio>
#include <cstdlib>

#include "support/modules.hpp"

int main(int argc, char** argv) {
  void* const module = argc == 2 ? lido_test::load_module(argv[1]) : nullptr;
  auto* const get_stuck =
      module != nullptr ? lido_test::find_function<void()>(module, "lido_test_get_stuck") : nullptr;
  if (get_stuck == nullptr) {
    std::printf("BROKEN: the module cannot be loaded\n");
    return EXIT_FAILURE;
  }
  get_stuck();
  return EXIT_SUCCESS;
}
