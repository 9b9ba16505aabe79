/// Thread numbers of several copies of the library in one process.
#include <array>
#include <optional>

#include "scenarios/scenario.hpp"
#include "src/concurrency/number_ranges.hpp"

namespace model {

namespace {

// There are so few numbers in the model that they are one range. The copy that is refused gives
// none.
void two_copies() {
  lido::detail::number_ranges shared{};
  std::array<std::optional<std::uint32_t>, 2> taken;
  in_threads([&] { taken[0] = shared.take(); }, [&] { taken[1] = shared.take(); });
  require(taken[0].has_value() != taken[1].has_value(), "both copies have the range, or none");
}

constexpr std::array numbers_list{
    scenario{"numbers.two_copies", "a range of numbers goes to one copy", &two_copies}};

}  // namespace

std::span<const scenario> numbers_scenarios() {
  return numbers_list;
}

}  // namespace model
