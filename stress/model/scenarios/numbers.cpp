/// Thread numbers of several copies of the library in one process.
#include <array>
#include <optional>

#include "scenarios/scenario.hpp"
#include "src/concurrency/number_ranges.hpp"

namespace model {

namespace {

// The model has so few numbers that they are one range. The refused copy assigns none.
void two_copies() {
  lido::detail::number_ranges shared{};
  std::array<std::optional<std::uint32_t>, 2> taken;
  in_threads([&] { taken[0] = shared.take(); }, [&] { taken[1] = shared.take(); });
  require(taken[0].has_value() != taken[1].has_value(), "both copies have the range, or none");
}

// Each copy brings memory, as it would if it saw no other.
void copies_join() {
  using lido::detail::common_ranges;
  std::array<lido::detail::number_ranges, 2> memory{};
  std::array<common_ranges::word, 2> words{};
  std::array<void*, 2> places{};
  const auto join = [&](std::size_t copy) {
    common_ranges common;
    for (common_ranges::word& word : words) {
      common.look_at(word);
    }
    places.at(copy) = common.agree(words.at(copy), common.is_known() ? nullptr : &memory.at(copy));
  };
  in_threads([&] { join(0); }, [&] { join(1); });
  require(places[0] != nullptr && places[0] == places[1], "two copies have ranges of their own");
  common_ranges later;
  later.look_at(words[1]);  // the first one no longer exists
  require(later.is_known(), "a copy has not noted the place");
}

constexpr std::array numbers_list{
    scenario{"numbers.two_copies", "a range of numbers goes to one copy", &two_copies},
    scenario{"numbers.copies_join", "copies that are loaded at once agree on one place",
             &copies_join}};

}  // namespace

std::span<const scenario> numbers_scenarios() {
  return numbers_list;
}

}  // namespace model
