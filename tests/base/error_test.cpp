#include "lido/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace lido {
namespace {

using ::testing::HasSubstr;

TEST(GrowthFailed, MessageNamesTheSystemCall) {
#ifdef _WIN32
  constexpr const char* call = "VirtualAlloc: ";
#else
  constexpr const char* call = "mprotect: ";
#endif
  const std::string text = growth_failed("jobs", 64, 63, ENOMEM).what();
  EXPECT_THAT(text, HasSubstr(std::string("'jobs' cannot grow: ") + call));
  EXPECT_THAT(text, HasSubstr("63 of 64 slots are in use"));
}

TEST(PoolExhausted, MessageNamesThePool) {
  EXPECT_THAT(pool_exhausted("jobs", 64, 63).what(), HasSubstr("'jobs'"));
}

TEST(PoolExhausted, MessageSaysHowManySlotsAreInUse) {
  EXPECT_THAT(pool_exhausted("jobs", 64, 63).what(), HasSubstr("63 of 64"));
}

TEST(PoolExhausted, CarriesItsNumbers) {
  const pool_exhausted error("jobs", 64, 63);
  EXPECT_EQ(error.pool_name(), "jobs");
  EXPECT_EQ(error.capacity(), 64U);
  EXPECT_EQ(error.in_use(), 63U);
}

TEST(PoolExhausted, IsARuntimeError) {
  EXPECT_TRUE((std::is_base_of_v<std::runtime_error, pool_exhausted>));
}

TEST(PoolExhausted, CopyingCannotThrow) {
  EXPECT_TRUE(std::is_nothrow_copy_constructible_v<pool_exhausted>);
  EXPECT_TRUE(std::is_nothrow_copy_assignable_v<pool_exhausted>);
}

TEST(PoolExhausted, CopyOutlivesTheOriginal) {
  auto original =
      std::make_unique<pool_exhausted>("a name too long for the small string optimisation", 2, 2);
  const pool_exhausted copy = *original;
  original.reset();
  EXPECT_EQ(copy.pool_name(), "a name too long for the small string optimisation");
}

TEST(PoolExhausted, StillHasItsNameWhenMovedFrom) {
  pool_exhausted original("jobs", 2, 2);
  const pool_exhausted moved = std::move(original);
  // NOLINTNEXTLINE(bugprone-use-after-move,hicpp-invalid-access-moved): what is asked here
  EXPECT_EQ(original.pool_name(), "jobs");
  EXPECT_EQ(moved.pool_name(), "jobs");
}

TEST(PoolExhausted, NameMayBeEmpty) {
  EXPECT_EQ(pool_exhausted("", 1, 1).pool_name(), "");
}

TEST(ThrowInvalidOption, MessageNamesPoolAndProblem) {
  try {
    detail::throw_invalid_option("jobs", "capacity 0 is no capacity");
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("'jobs'"));
    EXPECT_THAT(error.what(), HasSubstr("capacity 0 is no capacity"));
  }
}

/// Returns what a check throws; empty if nothing.
template <class Check>
std::string refusal(const Check& check) {
  try {
    check();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

TEST(CheckOption, RefusesWhatIsBelowOrAboveItsLimits) {
  const auto refusal_of = [](std::size_t value, std::size_t least) {
    return refusal([&] { detail::check_option("jobs", "capacity", value, least, 9); });
  };
  EXPECT_EQ(refusal_of(0, 0), "");
  EXPECT_EQ(refusal_of(9, 1), "");
  EXPECT_EQ(refusal_of(0, 1), "lido: pool 'jobs': capacity 0 is not between 1 and 9");
  EXPECT_EQ(refusal_of(10, 1), "lido: pool 'jobs': capacity 10 is not between 1 and 9");
  EXPECT_EQ(refusal_of(10, 0), "lido: pool 'jobs': capacity 10 is more than 9");
}

TEST(RefuseOptionIf, JoinsTheParts) {
  const auto refusal_if = [](bool is_wrong) {
    return refusal([&] { detail::refuse_option_if(is_wrong, "jobs", {"two", " sizes"}); });
  };
  EXPECT_EQ(refusal_if(true), "lido: pool 'jobs': two sizes");
  EXPECT_EQ(refusal_if(false), "");
}

}  // namespace
}  // namespace lido
