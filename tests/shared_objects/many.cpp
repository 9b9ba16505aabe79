// Loads many modules with their own copies of Lido, and uses a pool in each of them.
//
// Usage: many MODULE.so COUNT
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "foreign.hpp"

namespace {

namespace fs = std::filesystem;

bool works(const foreign_kind& pools) {
  void* const pool = pools.make();
  const std::uintptr_t one = pools.take(pool);
  const std::uintptr_t other = pools.take(pool);
  pools.give(pool, one);
  pools.give(pool, other);
  pools.destroy(pool);
  return one != 0 && other != 0 && one != other;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 ? std::atoi(argv[2]) : 0;  // NOLINT(cert-err34-c): of the test itself
  const fs::path folder = fs::temp_directory_path() / fmt::format("lido-many-{}", ::getpid());
  fs::create_directory(folder);
  int loaded = 0;
  for (bool goes_on = count != 0; goes_on && loaded < count;) {
    const fs::path copy = folder / fmt::format("{}.so", loaded);
    fs::copy_file(argv[1], copy);
    void* const module = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    fs::remove(copy);
    goes_on = module != nullptr;
    if (!goes_on) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
      fmt::print("BROKEN: module {}: {}\n", loaded + 1, ::dlerror());
      break;
    }
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is made for
    const auto entry = reinterpret_cast<foreign_entry>(::dlsym(module, "lido_test_foreign"));
    goes_on = entry != nullptr && works(entry().first[0]);
    loaded += goes_on ? 1 : 0;
  }
  fs::remove_all(folder);
  fmt::print("report: modules={}\n", loaded);
  return count != 0 && loaded == count ? EXIT_SUCCESS : EXIT_FAILURE;
}
