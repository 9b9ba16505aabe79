#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map.hpp"

namespace lido {
namespace {

struct particle {
  explicit particle(int light) : brightness(light) {}

  void update() { ++brightness; }
  step age() { return --brightness == 0 ? step::erase : step::next; }
  bool keep_going() const { return brightness < 3; }
  void remember(slot_handle<particle> handle) { own = handle; }
  bool darker(const particle& other) const { return brightness < other.brightness; }

  int brightness;
  slot_handle<particle> own;
};

struct in_order {
  void operator()(std::uint32_t count, const auto& body) const { body(0, count); }
};

template <class Map>
void fill(Map& particles) {
  for (int light = 1; light <= 3; ++light) {
    (void)particles.emplace(light);
  }
}

template <class Map>
std::vector<int> brightness_of_each(const Map& particles) {
  std::vector<int> all;
  particles.for_each([&](const particle& each) { all.push_back(each.brightness); });
  std::sort(all.begin(), all.end());
  return all;
}

/// Behaviour that both maps share.
template <class Map>
class MemberCallbacks : public ::testing::Test {
 protected:
  MemberCallbacks() { fill(particles); }
  Map particles{{.max_size = 3}};
};

using both_maps = ::testing::Types<slot_map<particle>, concurrent_slot_map<particle>>;
TYPED_TEST_SUITE(MemberCallbacks, both_maps, );

TYPED_TEST(MemberCallbacks, WalkCallsThem) {
  EXPECT_TRUE(this->particles.for_each(&particle::update));
  EXPECT_EQ(brightness_of_each(this->particles), (std::vector{2, 3, 4}));
}

TYPED_TEST(MemberCallbacks, WalkErasesAndStopsAsTheySay) {
  EXPECT_TRUE(this->particles.for_each(&particle::age));
  EXPECT_EQ(brightness_of_each(this->particles), (std::vector{1, 2}));
  EXPECT_TRUE(this->particles.for_each(&particle::keep_going));
  (void)this->particles.emplace(3);
  EXPECT_FALSE(this->particles.for_each(&particle::keep_going));
}

TYPED_TEST(MemberCallbacks, WalkGivesThemTheHandle) {
  this->particles.for_each(&particle::remember);
  this->particles.for_each(
      [](const particle& each, slot_handle<particle> handle) { EXPECT_EQ(each.own, handle); });
}

TYPED_TEST(MemberCallbacks, WalkOverAConstMapCallsThem) {
  EXPECT_FALSE(std::as_const(this->particles).for_each(&particle::keep_going));
}

TYPED_TEST(MemberCallbacks, ParallelWalkCallsThem) {
  this->particles.for_each(in_order(), &particle::update);
  this->particles.for_each(in_order(), &particle::remember);
  std::as_const(this->particles).for_each(in_order(), &particle::keep_going);
  EXPECT_EQ(brightness_of_each(this->particles), (std::vector{2, 3, 4}));
}

TEST(SlotMap, EvictionComparesByAMemberFunction) {
  slot_map<particle> particles({.max_size = 3});
  fill(particles);
  (void)particles.emplace_or_evict(&particle::darker, 9);
  EXPECT_EQ(brightness_of_each(particles), (std::vector{2, 3, 9}));
}

TEST(ConcurrentSlotMap, VisitReadAndWalkAloneCallMemberFunctions) {
  concurrent_slot_map<particle> particles(3);
  const slot_handle<particle> one = particles.emplace(1);
  EXPECT_TRUE(particles.visit(one, &particle::update));
  EXPECT_TRUE(particles.read(one, &particle::keep_going));
  EXPECT_TRUE(particles.for_each_alone(&particle::update));
  particles.for_each_alone(in_order(), &particle::update);
  EXPECT_EQ(brightness_of_each(particles), (std::vector{4}));
}

}  // namespace
}  // namespace lido
