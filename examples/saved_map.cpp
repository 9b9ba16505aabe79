// A slot map that is written to a file and read again: handles refer to the same values.
#include <cstdint>
#include <iostream>
#include <lido/slot_map.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

struct enemy {
  int health = 0;
  lido::slot_handle<enemy> target;  // a number: it may be saved, too
};

template <class T>
void write(std::ostream& file, const T* data, std::size_t count) {
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(count * sizeof(T)));
}
template <class T>
std::vector<T> read(std::istream& file, std::size_t count) {
  std::vector<T> data(count);
  file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return data;
}

// [snippet]
void save(lido::slot_map<enemy>& enemies, std::ostream& file) {
  const auto now = enemies.snapshot();  // spans of what is in the map: copies nothing
  const std::uint32_t numbers[]{now.format, std::uint32_t(now.values.size()),
                                std::uint32_t(now.table.size()), now.first_free,
                                now.first_generation};
  write(file, numbers, 5);
  write(file, now.values.data(), now.values.size());
  write(file, now.table.data(), now.table.size());
}

void load(lido::slot_map<enemy>& enemies, std::istream& file) {
  const auto numbers = read<std::uint32_t>(file, 5);
  if (numbers[0] != lido::slot_map_format) {  // as restore does, but before the counts are used
    throw std::runtime_error("the file has another format, or the byte order of another processor");
  }
  const auto values = read<enemy>(file, numbers[1]);
  const auto slots = read<std::uint64_t>(file, numbers[2]);
  enemies.restore({numbers[0], values, slots, numbers[3], numbers[4]});
}
// [/snippet]

int main() {
  std::stringstream file;
  lido::slot_map<enemy> level;
  const auto boss = level.insert({100, {}});
  const auto guard = level.insert({20, boss});
  save(level, file);
  level.erase(boss);
  load(level, file);
  std::cout << "target: " << level.at(level.at(guard).target).health << '\n';
}

// Prints:
//   target: 100
