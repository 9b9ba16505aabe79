/// @file
/// Google Benchmark's main, with the data for the report's heading.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "contender.hpp"
#include "pinning.hpp"
#include "register_all.hpp"
#include "thread_counts.hpp"

namespace {

std::string processor() {
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown";
}

/// Returns the library that malloc comes from. A peer that replaced it would be measured twice.
std::string malloc_library() {
  Dl_info info{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dladdr takes any address
  if (dladdr(reinterpret_cast<void*>(&std::malloc), &info) == 0 || info.dli_fname == nullptr) {
    return "unknown";
  }
  return info.dli_fname;
}

void set_thread_counts(std::string_view list) {
  lido_bench::thread_counts().clear();
  std::istringstream numbers{std::string{list}};
  for (std::string number; std::getline(numbers, number, ',');) {
    lido_bench::thread_counts().push_back(static_cast<unsigned>(std::stoul(number)));
  }
}

/// Takes --threads=1,2,8 or the like, and --pin. Returns false for every other argument.
bool take_own_option(std::string_view argument) {
  constexpr std::string_view threads{"--threads="};
  if (argument.starts_with(threads)) {
    set_thread_counts(argument.substr(threads.size()));
    return true;
  }
  if (argument == "--pin") {
    lido_bench::pinned_processors() = lido_bench::allowed_processors();
    return true;
  }
  return false;
}

/// Returns how many arguments are left for Google Benchmark.
int take_own_options(int argc, char** argv) {
  int left{1};
  for (int place{1}; place < argc; ++place) {
    if (!take_own_option(argv[place])) {
      argv[left++] = argv[place];
    }
  }
  return left;
}

}  // namespace

int main(int argc, char** argv) {
  argc = take_own_options(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return EXIT_FAILURE;
  }
  benchmark::AddCustomContext("processor", processor());
  benchmark::AddCustomContext("cores", std::to_string(lido_bench::cores()));
  benchmark::AddCustomContext("pinned", lido_bench::pinned_processors().empty() ? "no" : "yes");
  benchmark::AddCustomContext("compiler", LIDO_BENCH_COMPILER);
  benchmark::AddCustomContext("malloc", malloc_library());
  benchmark::AddCustomContext("absent", std::string{lido_bench::absent_contenders()});
  lido_bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}
