// The fountain over each store, and over stores with a fault that the checks must find.
#include "fountain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "faulty_store.hpp"
#include "picture/painter.hpp"
#include "stores/evicting_store.hpp"
#include "stores/growing_store.hpp"
#include "stores/refusing_store.hpp"
#include "stores/tuned_store.hpp"

namespace particles {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t frames = 120;
constexpr std::size_t usual = 3000;

struct outcome {
  tally sums;
  std::vector<std::string> complaints;
  std::vector<std::uint8_t> last_picture;
};

std::vector<std::uint8_t> bytes_of(const image& picture) {
  std::vector<std::uint8_t> bytes;
  for (const colour& pixel : picture.pixels) {
    bytes.insert(bytes.end(), {pixel.red, pixel.green, pixel.blue});
  }
  return bytes;
}

/// The load of a store, and the books that it may have to report to.
struct season {
  explicit season(std::uint64_t seed) : load(usual, frames, seed), books(load.total()) {}
  demand load;
  ledger books;
};

template <class Store>
outcome run_here(Store& store, season& one, std::uint64_t seed) {
  auto& [load, books] = one;
  nursery births(seed, books);
  fountain<Store> running(store, books, births);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    running.advance(load.births(frame), demand::pressure(frame));
    running.check();
  }
  painter paints(64, 48, usual);
  return {books.totals(), books.found_wrong().first(), bytes_of(paints.paint(store, 0, {}))};
}

/// Runs on that many threads, which may exceed the cores.
template <class Body>
outcome on_threads(std::size_t threads, const Body& body) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  return arena.execute(body);
}

template <class Store>
outcome run(Store& store, std::uint64_t seed, std::size_t threads) {
  season one(seed);
  return on_threads(threads, [&] { return run_here(store, one, seed); });
}

TEST(Fountain, RefusesNoParticleInAPoolOfExactlyTheRightSize) {
  tuned_store store(demand(usual, frames, 1).peak());
  const outcome found = run(store, 1, 4);
  EXPECT_THAT(found.complaints, IsEmpty());
  EXPECT_EQ(found.sums.born, demand(usual, frames, 1).total());
  EXPECT_EQ(found.sums.alive(), store.in_use());
}

TEST(Fountain, ThrowsWhenTheTuningIsWrongByOne) {
  tuned_store store(demand(usual, frames, 1).peak() - 1);
  EXPECT_THROW(run(store, 1, 4), lido::pool_exhausted);
}

TEST(Fountain, CountsTheRefused) {
  refusing_store store(usual);
  const outcome found = run(store, 1, 4);
  EXPECT_THAT(found.complaints, IsEmpty());
  EXPECT_GT(found.sums.refused, 0U);
  EXPECT_EQ(found.sums.asked, found.sums.born + found.sums.refused);
}

/// Runs the fountain on the store that `make(books)` makes.
template <class Make>
outcome run_new(const Make& make, std::uint64_t seed, std::size_t threads) {
  season one(seed);
  return on_threads(threads, [&] {
    auto store = make(one.books);
    return run_here(store, one, seed);
  });
}

template <class Make>
void expect_same_picture(const Make& make) {
  const outcome first = run_new(make, 7, 1);
  EXPECT_THAT(first.complaints, IsEmpty());
  const outcome same = run_new(make, 7, 4);
  const outcome other = run_new(make, 8, 4);
  EXPECT_THAT(same.complaints, IsEmpty());
  EXPECT_THAT(other.complaints, IsEmpty());
  EXPECT_EQ(first.last_picture, same.last_picture);
  EXPECT_NE(first.last_picture, other.last_picture);
}

TEST(Fountain, LooksTheSameWithTheSameSeedOnAnyNumberOfThreads) {
  expect_same_picture([](ledger& /*books*/) { return tuned_store(usual * 2); });
  expect_same_picture([](ledger& /*books*/) { return refusing_store(usual); });
  expect_same_picture([](ledger& books) { return evicting_store(usual, books); });
  expect_same_picture([](ledger& /*books*/) { return growing_store(usual, usual * 2); });
}

struct seeded_fault {
  fault which;
  std::string complaint;
  std::string name;

  friend void PrintTo(const seeded_fault& what, std::ostream* out) { *out << what.name; }
};

class FountainFault : public testing::TestWithParam<seeded_fault> {};

TEST_P(FountainFault, IsFound) {
  faulty_store store(usual, GetParam().which);
  const outcome found = run(store, 1, 1);
  ASSERT_FALSE(found.complaints.empty());
  EXPECT_THAT(found.complaints.front(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Seeded, FountainFault,
    testing::Values(seeded_fault{fault::hides_one, "is lost", "lost"},
                    seeded_fault{fault::shows_one_twice, "is there twice", "doubled"},
                    seeded_fault{fault::keeps_a_dead_one, "is a ghost", "dead"},
                    seeded_fault{fault::swallows_a_refusal, "places were asked for", "unanswered"}),
    [](const auto& about) { return about.param.name; });

TEST(FountainWithoutFault, HasNoComplaint) {
  faulty_store store(usual, fault::none);
  EXPECT_THAT(run(store, 1, 1).complaints, IsEmpty());
}

TEST(Demand, PeaksWhereAPoolIsFullest) {
  const demand load(usual, frames, 3);
  EXPECT_GT(load.peak(), usual);
  refusing_store store(load.peak());
  EXPECT_EQ(run(store, 3, 2).sums.refused, 0U);
  refusing_store smaller(load.peak() - 1);
  EXPECT_EQ(run(smaller, 3, 2).sums.refused, 1U);
}

}  // namespace
}  // namespace particles
