/// @file
/// Google Benchmark's main, with what the report's heading needs.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "contender.hpp"
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

/// The library malloc comes from. A peer that replaced it would be measured twice.
std::string malloc_library() {
  Dl_info info{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dladdr takes any address
  if (dladdr(reinterpret_cast<void*>(&std::malloc), &info) == 0 || info.dli_fname == nullptr) {
    return "unknown";
  }
  return info.dli_fname;
}

/// Whether the first argument is --threads=1,2,8 or the like, which is then the program's name.
bool take_thread_counts(int argc, char** argv) {
  constexpr std::string_view option{"--threads="};
  if (argc < 2 || !std::string_view{argv[1]}.starts_with(option)) {
    return false;
  }
  lido_bench::thread_counts().clear();
  std::istringstream numbers{argv[1] + option.size()};
  for (std::string number; std::getline(numbers, number, ',');) {
    lido_bench::thread_counts().push_back(static_cast<unsigned>(std::stoul(number)));
  }
  argv[1] = argv[0];
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (take_thread_counts(argc, argv)) {
    --argc;
    ++argv;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return EXIT_FAILURE;
  }
  benchmark::AddCustomContext("processor", processor());
  benchmark::AddCustomContext("cores", std::to_string(lido_bench::cores()));
  benchmark::AddCustomContext("compiler", LIDO_BENCH_COMPILER);
  benchmark::AddCustomContext("malloc", malloc_library());
  benchmark::AddCustomContext("absent", std::string{lido_bench::absent_contenders()});
  lido_bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}
