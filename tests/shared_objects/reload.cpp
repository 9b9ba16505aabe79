// Loads a module that uses Lido, unloads it, and loads a newer one under the same name.
//
// Usage: reload unloaded|kept FIRST.so SECOND.so
//     unloaded   the first module is gone after it was closed, so the second one runs
//     kept       the first module stays, as it must where it contains Lido, and runs once more
#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/modules.hpp"

namespace {

namespace fs = std::filesystem;

void require(bool held, const std::string& what) {
  if (!held) {
    (void)std::printf("BROKEN: %s; %s\n", what.c_str(), lido_test::module_error().c_str());
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

void* load(const fs::path& module) {
  void* const handle = lido_test::load_module(module);
  require(handle != nullptr, "the module cannot be loaded");
  return handle;
}

int run(void* module) {
  auto* const entry = lido_test::find_function<int()>(module, "lido_test_game");
  require(entry != nullptr, "the module has no entry");
  return entry();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv, argv + argc);
  require(arguments.size() == 4, "usage: reload unloaded|kept FIRST.so SECOND.so");
  const bool kept = arguments[1] == "kept";
  const fs::path folder = fs::temp_directory_path() / ("lido-reload-" + std::to_string(::getpid()));
  const fs::path module = folder / "game.so";
  fs::create_directory(folder);

  fs::copy_file(arguments[2], module);
  void* handle = load(module);
  require(run(handle) == 1, "pools of the first module do not work");
  // A thread that has used the module's pools outlives it, and uses those of the next module.
  std::barrier turn(2);
  int seen_by_thread = 0;
  std::thread user([&] {
    seen_by_thread = run(handle);
    turn.arrive_and_wait();
    turn.arrive_and_wait();
    seen_by_thread = run(handle);
  });
  turn.arrive_and_wait();
  require(seen_by_thread == 1, "pools of the first module do not work in a thread of the host");
  require(lido_test::close_module(handle), "closing failed");
  require(lido_test::is_module_loaded(module) == kept,
          kept ? "the module is unloaded, though it contains Lido" : "the module is still loaded");

  fs::remove(module);
  fs::copy_file(arguments[3], module);
  handle = load(module);
  const int version = run(handle);
  require(version == (kept ? 1 : 2), "loaded version 2, runs version " + std::to_string(version));
  turn.arrive_and_wait();
  user.join();
  require(seen_by_thread == version, "a thread of the host runs another version");
  require(lido_test::close_module(handle) && lido_test::is_module_loaded(module) == kept,
          "closing once more failed");
  fs::remove_all(folder);
  (void)std::printf("report: reload=%s version=%d\n", kept ? "kept" : "unloaded", version);
  return EXIT_SUCCESS;
}
