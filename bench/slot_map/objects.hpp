/// @file
/// The objects in the containers of the slot map benches, with one interface for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lido_bench {

/// One cache line, like a particle or a small entity: hit points, and something to update.
struct object {
  explicit object(std::int32_t points = 100) : hp(points) {}

  void move() {
    for (std::size_t i = 0; i < place.size(); ++i) {
      place[i] += speed[i];
    }
  }

  std::array<float, 3> place{};
  std::array<float, 3> speed{1, 2, 3};
  std::int32_t hp;
  std::array<std::int32_t, 9> rest{};
};
static_assert(sizeof(object) == 64);

/// Numerical Recipes' generator: one multiplication, so that the container is measured.
class dice {
 public:
  explicit dice(std::uint32_t seed = 1) : state_(seed) {}
  std::uint32_t operator()(std::uint32_t sides) {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<std::uint32_t>(std::uint64_t{state_} * sides >> 32U);
  }

 private:
  std::uint32_t state_;
};

}  // namespace lido_bench
