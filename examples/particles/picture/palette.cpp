#include "palette.hpp"

#include <algorithm>
#include <array>

namespace particles {
namespace {

using ramp = std::array<light, 4>;  // at birth, at a third, at two thirds, at the end

constexpr ramp gold{
    {{1.0F, 0.92F, 0.75F}, {1.0F, 0.52F, 0.12F}, {0.85F, 0.12F, 0.10F}, {0.3F, 0.0F, 0.25F}}};
constexpr ramp cyan{
    {{0.85F, 1.0F, 1.0F}, {0.15F, 0.72F, 1.0F}, {0.10F, 0.25F, 0.95F}, {0.2F, 0.0F, 0.4F}}};
constexpr ramp rose{
    {{1.0F, 0.88F, 1.0F}, {1.0F, 0.28F, 0.70F}, {0.55F, 0.10F, 0.90F}, {0.1F, 0.0F, 0.4F}}};
constexpr std::array<const ramp*, 5> of_jet{&gold, &cyan, &cyan, &rose, &rose};

}  // namespace

light glow(const particle& p) noexcept {
  const ramp& colours = *of_jet.at(p.jet % of_jet.size());
  const float age = static_cast<float>(p.age) / static_cast<float>(p.lifetime) * 3;
  const auto step = std::min(static_cast<std::size_t>(age), std::size_t{2});
  return mixed(colours.at(step), colours.at(step + 1), age - static_cast<float>(step)) *
         visibility(p);
}

}  // namespace particles
