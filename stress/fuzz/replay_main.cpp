// Runs a fuzz target on the files of a corpus, with any compiler.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/target.hpp"

namespace {

std::string current_file;

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return {path};
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void fuzz::broken(const std::string& what) {
  std::printf("BROKEN: %s (input %s)\n", what.c_str(), current_file.c_str());
  std::fflush(stdout);
  std::_Exit(1);  // at once: other threads may be in the middle of an operation
}

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : files_of(argv[i])) {
      std::ifstream stream(file, std::ios::binary);
      if (!stream) {
        std::fprintf(stderr, "cannot read %s\n", file.c_str());
        return 2;
      }
      const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
      current_file = file.string();
      const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
      (void)LLVMFuzzerTestOneInput(input.data(), input.size());
      ++count;
    }
  }
  std::printf("%zu inputs replayed\n", count);
  return count > 0 ? 0 : 2;  // a replay of nothing proves nothing
}
