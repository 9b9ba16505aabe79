#include "checker/weakening.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace model {

namespace {

constexpr std::array<std::pair<half, std::string_view>, 3> names{
    {{half::acquire, "acquire"}, {half::release, "release"}, {half::both, "all"}}};

/// Returns the path of a file inside the library, in two parts. Both are empty for other files. A
/// source file includes others as `../folder/file`, so the same file has several paths.
std::pair<std::string_view, std::string_view> inside_library(std::string_view file) {
  constexpr std::string_view up = "/../";
  if (const auto at = file.rfind(up); at != std::string_view::npos) {
    return {"src/", file.substr(at + up.size())};
  }
  for (const std::string_view folder : {"/include/lido/", "/src/"}) {
    if (const auto at = file.rfind(folder); at != std::string_view::npos) {
      return {file.substr(at + 1, folder.size() - 1), file.substr(at + folder.size())};
    }
  }
  return {};
}

}  // namespace

std::string site::text() const {
  std::string_view name;
  for (const auto& [value, word] : names) {
    name = value == part ? word : name;
  }
  return fmt::format("{}:{} {} {}", file, line, access, name);
}

site site::parse(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::size_t first = std::min(text.find(' '), text.size());
  const std::size_t last = text.rfind(' ');
  if (colon >= first || last == std::string_view::npos || last <= first) {
    throw std::invalid_argument(fmt::format("'{}' is no site", text));
  }
  site parsed{std::string(text.substr(0, colon)), 0,
              std::string(text.substr(first + 1, last - first - 1)), half::both};
  std::from_chars(text.data() + colon + 1, text.data() + first, parsed.line);
  for (const auto& [value, word] : names) {
    if (word == text.substr(last + 1)) {
      parsed.part = value;
    }
  }
  return parsed;
}

void weakening::note(std::memory_order order, const char* access, code_location from) {
  if (!noted_.emplace(from.file, from.line, access, order).second) {
    return;
  }
  const auto [folder, rest] = inside_library(from.file);
  const std::string file = fmt::format("{}{}", folder, rest);
  if (file.empty()) {
    return;
  }
  if (order == std::memory_order_acquire || order == std::memory_order_acq_rel) {
    sites_.insert({file, from.line, access, half::acquire});
  }
  if (order == std::memory_order_release || order == std::memory_order_acq_rel) {
    sites_.insert({file, from.line, access, half::release});
  }
  if (order == std::memory_order_seq_cst) {
    sites_.insert({file, from.line, access, half::both});
  }
}

std::memory_order weakening::weaker(std::memory_order order, const char* access,
                                    code_location from) {
  const auto [folder, rest] = inside_library(from.file);
  const std::string_view file = weakened_.file;
  if (weakened_.access != access || rest.empty() || !file.starts_with(folder) ||
      file.substr(folder.size()) != rest) {
    return order;
  }
  met_ = true;
  if (order != std::memory_order_acq_rel) {
    return std::memory_order_relaxed;
  }
  return weakened_.part == half::acquire ? std::memory_order_release : std::memory_order_acquire;
}

}  // namespace model
