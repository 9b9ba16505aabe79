#include "lido/base/option_problem.hpp"

#include <algorithm>
#include <charconv>

#include "lido/base/fail.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/memory_source.hpp"

namespace lido::inline v0 {

option_problem::option_problem(kind what, std::initializer_list<std::string_view> text) noexcept
    : what_(what) {
  std::size_t size = 0;
  for (const std::string_view part : text) {
    size += part.copy(text_.data() + size, text_.size() - 1 - size);
  }
  size_ = static_cast<std::uint8_t>(size);
}

namespace detail {

digits::digits(std::size_t number) noexcept
    : size_(static_cast<std::size_t>(
          std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr - text_.data())) {}

option_problem out_of_range(std::string_view option, std::size_t value, std::size_t least,
                            std::size_t most) noexcept {
  if (value >= least && value <= most) {
    return {};
  }
  const auto what = option_problem::kind::option;
  if (least == 0) {
    return {what, {option, " ", digits(value).view(), " is more than ", digits(most).view()}};
  }
  return {what,
          {option, " ", digits(value).view(), " is not between ", digits(least).view(), " and ",
           digits(most).view()}};
}

option_problem too_little_memory(const memory_source* source,
                                 const memory_cursor& needed) noexcept {
  if (source == nullptr || source->available(needed.alignment()) >= needed.bytes()) {
    return {};
  }
  return {
      option_problem::kind::option,
      {"memory has ", digits(source->available(needed.alignment())).view(), " bytes aligned to ",
       digits(needed.alignment()).view(), ", but ", digits(needed.bytes()).view(), " are needed"}};
}

void throw_if(const option_problem& problem, std::string_view pool_name) {
  switch (problem.what()) {
    case option_problem::kind::none:
      return;
    case option_problem::kind::option:
      throw_invalid_option(pool_name, problem.text());
    case option_problem::kind::size:
      throw_size_overflow(pool_name, problem.text());
    case option_problem::kind::memory:
      throw_bad_alloc();
  }
}

}  // namespace detail
}  // namespace lido::inline v0
