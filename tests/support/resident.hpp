/// @file
/// The memory that the process uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <vector>

#ifdef _WIN32
#include <windows.h>
// must come after windows.h
#include <psapi.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace lido::test {

struct process_memory {
  std::size_t mapped = 0;    ///< bytes of mapped addresses
  std::size_t resident = 0;  ///< bytes of resident memory
};

[[nodiscard]] inline process_memory memory_of_process() {
#ifdef _WIN32
  PROCESS_MEMORY_COUNTERS counters{};
  (void)::GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof(counters));
  return {counters.PagefileUsage, counters.WorkingSetSize};
#else
  process_memory pages;
  std::ifstream("/proc/self/statm") >> pages.mapped >> pages.resident;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return {pages.mapped * page, pages.resident * page};
#endif
}

[[nodiscard]] inline std::size_t resident_bytes() {
  return memory_of_process().resident;
}

/// Returns how many pages have memory, in the range of `bytes` bytes from `first` on. Returns
/// std::nullopt if the system does not report that, or if an emulator does not report it for
/// unreadable pages.
[[nodiscard]] inline std::optional<std::size_t> resident_pages(void* first, std::size_t bytes) {
#ifdef _WIN32
  constexpr std::size_t page = 4096;
  std::vector<PSAPI_WORKING_SET_EX_INFORMATION> states((bytes + page - 1) / page);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].VirtualAddress = static_cast<char*>(first) + i * page;
  }
  const auto size = static_cast<DWORD>(states.size() * sizeof(states[0]));
  if (::QueryWorkingSetEx(::GetCurrentProcess(), states.data(), size) == 0) {
    return std::nullopt;
  }
  const auto is_resident = [](const auto& state) { return state.VirtualAttributes.Valid != 0; };
#else
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> states((bytes + page - 1) / page);
  if (::mincore(first, bytes, states.data()) != 0) {
    return std::nullopt;
  }
  const auto is_resident = [](unsigned char state) { return (state & 1U) != 0; };
#endif
  return static_cast<std::size_t>(std::count_if(states.begin(), states.end(), is_resident));
}

}  // namespace lido::test
