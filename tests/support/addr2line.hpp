/// @file
/// Runs the commands at the end of a report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace lido::test {

#ifdef _WIN32
inline constexpr const char* lines_command = "llvm-symbolizer --relative-address -e";
#else
inline constexpr const char* lines_command = "addr2line -Cfpie";
#endif

/// Returns the functions, files and lines of all code addresses in a report. Returns an empty
/// string if the report contains no command.
inline std::string resolve(const std::string& report) {
  const std::string name = "addr2line";
  const char* const chosen = std::getenv("ADDR2LINE");  // NOLINT(concurrency-mt-unsafe): not set
  std::string all;
  for (std::size_t at = report.find(name); at != std::string::npos; at = report.find(name, at)) {
    const std::size_t end = report.find('\n', at);
    const std::string rest = report.substr(at + name.size(), end - at - name.size());
    // NOLINTNEXTLINE(cert-env33-c): that is what is tested
    std::FILE* const out = ::popen(((chosen != nullptr ? chosen : name) + rest).c_str(), "r");
    std::array<char, 4096> line{};
    while (std::fgets(line.data(), line.size(), out) != nullptr) {
      all += line.data();
    }
    ::pclose(out);
    at += name.size();
  }
  return all;
}

}  // namespace lido::test
