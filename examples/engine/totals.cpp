#include "totals.hpp"

#include <fmt/format.h>

#include "printable.hpp"
#include "scanner.hpp"

namespace demo {
namespace {

counts no_counts() noexcept {
  counts none;  // NOLINT(cppcoreguidelines-pro-type-member-init): cleared next
  none.clear();
  return none;
}

void compare(const std::string& type, const counts& want, const counts& have,
             std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < counter_names.size(); ++i) {
    if (want.values[i] != have.values[i]) {
      lines.push_back(fmt::format("{} {}: {} serially, {} by jobs", type, counter_names[i],
                                  want.values[i], have.values[i]));
    }
  }
  if (want.longest.longer_than(have.longest) || have.longest.longer_than(want.longest)) {
    lines.push_back(fmt::format("{} longest identifier: '{}' serially, '{}' by jobs", type,
                                printable(want.longest.text()), printable(have.longest.text())));
  }
}

}  // namespace

totals::totals(std::size_t types) : by_type_(types, no_counts()) {}

void totals::add(const totals& part) noexcept {
  for (std::size_t type = 0; type < by_type_.size(); ++type) {
    by_type_[type].add(part.by_type_[type]);
  }
}

counts totals::sum() const noexcept {
  counts all = no_counts();
  for (const counts& one : by_type_) {
    all.add(one);
  }
  return all;
}

totals count_serially(const corpus& input) {
  totals all(input.types.size());
  for (const source_file& file : input.files) {
    counts found = no_counts();
    scan(file.text, 0, file.text.size(), found);
    all.add(file.type, found);
  }
  return all;
}

std::vector<std::string> differences(const totals& expected, const totals& actual,
                                     const std::vector<std::string>& types) {
  std::vector<std::string> lines;
  for (std::size_t type = 0; type < types.size(); ++type) {
    compare(printable(types[type]), expected.by_type()[type], actual.by_type()[type], lines);
  }
  return lines;
}

}  // namespace demo
