// The fountain with each answer to a full map.
#include "fountain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "picture.hpp"

namespace particles {
namespace {

using testing::IsEmpty;

constexpr std::size_t frames = 120;
constexpr std::size_t usual = 3000;

struct outcome {
  tally sums;
  std::vector<std::string> complaints;
  std::vector<std::uint8_t> last_picture;
  std::size_t in_map;
  std::size_t capacity;
};

outcome run(answer policy, const lido::slot_map_options& size, const demand& load) {
  ledger books(load.total());
  fountain running(policy, size, load, books);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    running.advance(frame);
    running.check();
  }
  painter paints(64, 48, usual);
  running.particles().for_each([&paints](const particle& p) { paints.add(p); });
  return {books.totals(), books.wrong(), paints.develop({0, 1, 1}).bytes,
          running.particles().size(), running.particles().capacity()};
}

outcome run(answer policy, std::uint64_t seed, std::size_t threads) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  const demand load(usual, frames, seed);
  return arena.execute([&] { return run(policy, size_for(policy, load), load); });
}

TEST(Fountain, RefusesNoParticleInAMapOfExactlyTheRightSize) {
  const outcome found = run(answer::tuned, 1, 4);
  EXPECT_THAT(found.complaints, IsEmpty());
  EXPECT_EQ(found.sums.born, demand(usual, frames, 1).total());
  EXPECT_EQ(found.sums.alive(), found.in_map);
}

TEST(Fountain, ThrowsWhenTheTuningIsWrongByOne) {
  const demand load(usual, frames, 1);
  EXPECT_THROW(run(answer::tuned, {.max_size = load.peak() - 1}, load), lido::pool_exhausted);
}

TEST(Fountain, CountsTheRefused) {
  const outcome found = run(answer::refuse, 1, 4);
  EXPECT_THAT(found.complaints, IsEmpty());
  EXPECT_GT(found.sums.refused, 0U);
  EXPECT_EQ(demand(usual, frames, 1).total(), found.sums.born + found.sums.refused);
}

TEST(Fountain, CountsTheEvicted) {
  const outcome found = run(answer::evict, 1, 4);
  EXPECT_THAT(found.complaints, IsEmpty());
  EXPECT_GT(found.sums.evicted, 0U);
  EXPECT_EQ(demand(usual, frames, 1).total(), found.sums.born);
}

TEST(Fountain, GivesMemoryBackAtEbb) {
  const outcome found = run(answer::grow, 1, 4);
  EXPECT_THAT(found.complaints, IsEmpty());
  EXPECT_LE(found.capacity, 2 * found.in_map);
  EXPECT_LT(found.capacity, demand(usual, frames, 1).peak());
}

TEST(Fountain, LooksTheSameWithTheSameSeedOnAnyNumberOfThreads) {
  for (const answer policy : all_answers) {
    const outcome first = run(policy, 7, 1);
    const outcome same = run(policy, 7, 4);
    const outcome other = run(policy, 8, 4);
    EXPECT_EQ(first.last_picture, same.last_picture) << name_of(policy);
    EXPECT_NE(first.last_picture, other.last_picture) << name_of(policy);
  }
}

TEST(Demand, PeaksWhereAMapIsFullest) {
  const demand load(usual, frames, 3);
  EXPECT_GT(load.peak(), usual);
  EXPECT_EQ(run(answer::refuse, {.max_size = load.peak()}, load).sums.refused, 0U);
  EXPECT_EQ(run(answer::refuse, {.max_size = load.peak() - 1}, load).sums.refused, 1U);
}

}  // namespace
}  // namespace particles
