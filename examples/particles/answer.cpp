#include "answer.hpp"

namespace particles {
namespace {

struct words {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<words, 4> of_answer{{{"tuned", "capacity is enough"},
                                          {"refuse", "do not create"},
                                          {"evict", "replace the least visible"},
                                          {"grow", "grow and contract"}}};

}  // namespace

std::string_view name_of(answer which) noexcept {
  return of_answer.at(static_cast<std::size_t>(which)).name;
}

std::string_view meaning_of(answer which) noexcept {
  return of_answer.at(static_cast<std::size_t>(which)).meaning;
}

}  // namespace particles
