/// @file
/// How much memory the process has.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace lido::test {

[[nodiscard]] inline std::size_t resident_bytes() {
  std::size_t mapped = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> mapped >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace lido::test
