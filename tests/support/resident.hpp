/// @file
/// How much memory the process has.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace lido::test {

struct process_memory {
  std::size_t mapped = 0;    ///< bytes of addresses with something behind them
  std::size_t resident = 0;  ///< bytes of memory
};

[[nodiscard]] inline process_memory memory_of_process() {
  process_memory pages;
  std::ifstream("/proc/self/statm") >> pages.mapped >> pages.resident;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return {pages.mapped * page, pages.resident * page};
}

[[nodiscard]] inline std::size_t resident_bytes() {
  return memory_of_process().resident;
}

}  // namespace lido::test
