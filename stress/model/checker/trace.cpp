#include "checker/trace.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>

namespace model {

namespace {

/// The source lines that a trace names.
class source_lines {
 public:
  std::string_view at(code_location where) {
    auto [found, is_new] = files_.try_emplace(where.file);
    if (is_new) {
      std::ifstream file(where.file);
      for (std::string line; std::getline(file, line);) {
        found->second.push_back(std::move(line));
      }
    }
    const auto index = static_cast<std::size_t>(where.line) - 1;
    if (index >= found->second.size()) {
      return "";
    }
    std::string_view line = found->second[index];
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return line;
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace

std::string trace::text() const {
  source_lines sources;
  std::string text;
  for (const event& each : events_) {
    const std::string_view file(each.where.file);
    const std::string where =
        each.where.line == 0
            ? ""
            : fmt::format("{}:{}", file.substr(file.rfind('/') + 1), each.where.line);
    text += fmt::format("{:>{}} {:<28} {:<44} {}\n", each.who, 2 * each.who + 2, where, each.what,
                        sources.at(each.where));
  }
  return text;
}

}  // namespace model
