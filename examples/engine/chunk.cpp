#include "chunk.hpp"

#include <algorithm>
#include <string>

namespace demo {
namespace {

constexpr std::size_t most_chunks = std::size_t{1} << 24;

void cut_file(std::uint32_t file, std::size_t size, std::size_t chunk_bytes,
              std::vector<chunk>& chunks) {
  for (std::size_t begin = 0; begin < size; begin += std::min(chunk_bytes, size - begin)) {
    chunks.push_back({file, begin, begin + std::min(chunk_bytes, size - begin)});
  }
}

/// Checks the number before anything is cut, so that one byte a chunk does not first fill the
/// memory.
void require_few(const corpus& input, std::size_t chunk_bytes) {
  std::size_t chunks = 0;
  for (const source_file& file : input.files) {
    chunks += (file.text.size() + chunk_bytes - 1) / chunk_bytes;
  }
  if (chunks > most_chunks) {
    throw input_error("chunks of " + std::to_string(chunk_bytes) + " bytes make " +
                      std::to_string(chunks) + " jobs of this input, more than " +
                      std::to_string(most_chunks) + "; raise --chunk");
  }
}

}  // namespace

std::vector<chunk> cut(const corpus& input, std::size_t chunk_bytes) {
  require_few(input, chunk_bytes);
  std::vector<chunk> chunks;
  for (std::uint32_t file = 0; file < input.files.size(); ++file) {
    cut_file(file, input.files[file].text.size(), chunk_bytes, chunks);
  }
  return chunks;
}

}  // namespace demo
