// A slot map that is written to a file and read again: handles refer to the same values.
#include <cstdint>
#include <iostream>
#include <lido/slot_map.hpp>
#include <sstream>
#include <vector>

struct enemy {
  int health = 0;
  lido::slot_handle<enemy> target;  // a number: it may be saved, too
};

void write(std::ostream& file, const auto* data, std::size_t count) {
  file.write(reinterpret_cast<const char*>(data), std::streamsize(count * sizeof *data));
}
template <class T>
std::vector<T> read(std::istream& file, std::size_t count) {
  std::vector<T> data;  // not made in one step: a damaged count may be larger than the file
  for (T each{}; data.size() < count && file.read(reinterpret_cast<char*>(&each), sizeof each);) {
    data.push_back(each);
  }
  return data;
}

// [snippet]
void save(lido::slot_map<enemy>& enemies, std::ostream& file) {
  const auto [format, values, table, first_free, first_generation] = enemies.snapshot();  // spans
  const std::uint32_t numbers[]{format, std::uint32_t(values.size()), std::uint32_t(table.size()),
                                first_free, first_generation};
  write(file, numbers, 5);
  write(file, values.data(), values.size());
  write(file, table.data(), table.size());
}

bool load(lido::slot_map<enemy>& enemies, std::istream& file) {
  auto numbers = read<std::uint32_t>(file, 5);
  numbers.resize(5);  // if the file is shorter
  const auto values = read<enemy>(file, numbers[1]);
  const auto slots = read<std::uint64_t>(file, numbers[2]);
  const lido::slot_map_snapshot<enemy> saved{numbers[0], values, slots, numbers[3], numbers[4]};
  const auto problem = enemies.problem_with(saved);  // its text() gives the reason
  if (!problem) {
    enemies.restore(saved);
  }
  return !problem;
}
// [/snippet]

int main() {
  std::stringstream file;
  lido::slot_map<enemy> level;
  const auto boss = level.insert({100, {}});
  const auto guard = level.insert({20, boss});
  save(level, file);
  level.erase(boss);
  std::cout << load(level, file) << ' ' << level.at(level.at(guard).target).health << '\n';
}
// Prints:
//   1 100
