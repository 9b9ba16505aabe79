// Loads a module, lets it use resource pools, and unloads it, many times. No thread of the pools
// may remain then: it would run code that no longer exists.
//
// Usage: unload MODULE.so
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "support/modules.hpp"

namespace {

void require(bool held, const std::string& what) {
  if (!held) {
    (void)std::printf("BROKEN: %s; %s\n", what.c_str(), lido_test::module_error().c_str());
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

long threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 2, "usage: unload MODULE.so");
  constexpr int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    void* const module = lido_test::load_module(argv[1]);
    require(module != nullptr, "the module cannot be loaded");
    auto* const use = lido_test::find_function<int()>(module, "lido_test_use");
    require(use != nullptr && use() == 11, "pools of the module do not work");
    require(threads() > 1, "the module has no threads");
    require(lido_test::close_module(module), "closing failed");
    require(!lido_test::is_module_loaded(argv[1]), "the module is still loaded");
    // The system may need a moment to forget a joined thread.
    for (int late = 0; threads() != 1 && late < 1'000; ++late) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    require(threads() == 1, "threads are left");
  }
  (void)std::printf("report: unload rounds=%d\n", rounds);
  return EXIT_SUCCESS;
}
