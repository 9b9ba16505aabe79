// Loads a module that uses Lido, unloads it, and loads a newer one under the same name.
//
// Usage: reload unloaded|kept FIRST.so SECOND.so
//     unloaded   the first module is gone after it was closed, so the second one runs
//     kept       the first module stays, as it must where it contains Lido, and runs once more
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "game.hpp"

namespace {

namespace fs = std::filesystem;

void require(bool held, std::string_view what) {
  if (!held) {
    const char* const cause = ::dlerror();
    fmt::print("BROKEN: {}{}{}\n", what, cause != nullptr ? ": " : "",
               cause != nullptr ? cause : "");
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

void* load(const fs::path& module) {
  void* const handle = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(handle != nullptr, "the module cannot be loaded");
  return handle;
}

int run(void* module) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is made for
  const auto entry = reinterpret_cast<game_entry>(::dlsym(module, "lido_test_game"));
  require(entry != nullptr, "the module has no entry");
  return entry();
}

bool is_loaded(const fs::path& module) {
  void* const handle = ::dlopen(module.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) {
    (void)::dlclose(handle);
  }
  return handle != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv, argv + argc);
  require(arguments.size() == 4, "usage: reload unloaded|kept FIRST.so SECOND.so");
  const bool kept = arguments[1] == "kept";
  const fs::path folder = fs::temp_directory_path() / fmt::format("lido-reload-{}", ::getpid());
  const fs::path module = folder / "game.so";
  fs::create_directory(folder);

  fs::copy_file(arguments[2], module);
  void* handle = load(module);
  require(run(handle) == 1, "pools of the first module do not work");
  // A thread that has used the module's pools outlives the module, and uses those of the next one.
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
  require(::dlclose(handle) == 0, "closing failed");
  require(is_loaded(module) == kept,
          kept ? "the module is unloaded, though it contains Lido" : "the module is still loaded");

  fs::remove(module);
  fs::copy_file(arguments[3], module);
  handle = load(module);
  const int version = run(handle);
  require(version == (kept ? 1 : 2), fmt::format("loaded version 2, runs version {}", version));
  turn.arrive_and_wait();
  user.join();
  require(seen_by_thread == version, "a thread of the host runs another version");
  require(::dlclose(handle) == 0 && is_loaded(module) == kept, "closing once more failed");
  fs::remove_all(folder);
  fmt::print("report: reload={} version={}\n", arguments[1], version);
  return EXIT_SUCCESS;
}
